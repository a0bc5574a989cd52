//! The tools as a gRPC service.

use confab_proto::tools::v1::tools_service_server::ToolsService;
use confab_proto::tools::v1::{
    InvokeToolRequest, InvokeToolResponse, ListToolsRequest, ListToolsResponse, Tool,
};
use confab_rpc::gate::caller_of;
use tonic::{Request, Response, Status};

use crate::tool::ToolSpec;
use crate::toolbox::Toolbox;

/// Serves a [`Toolbox`].
///
/// There is no gate here: a tool call names its session inside of its arguments, and the services
/// that do the work admit it, for the same caller.
#[derive(Clone, Debug)]
pub struct ToolsServer(pub Toolbox);

#[tonic::async_trait]
impl ToolsService for ToolsServer {
    async fn list_tools(
        &self,
        request: Request<ListToolsRequest>,
    ) -> Result<Response<ListToolsResponse>, Status> {
        let caller = caller_of(&request)?;
        let tools = self.0.list(&caller).await?;
        let tools = tools.iter().map(to_proto).collect();
        Ok(Response::new(ListToolsResponse { tools }))
    }

    async fn invoke_tool(
        &self,
        request: Request<InvokeToolRequest>,
    ) -> Result<Response<InvokeToolResponse>, Status> {
        let caller = caller_of(&request)?;
        let InvokeToolRequest {
            name,
            arguments_json,
            idempotency_key,
        } = request.into_inner();
        let key = idempotency_key.as_deref();
        let invocation = self.0.invoke(&caller, &name, &arguments_json, key).await;
        Ok(Response::new(InvokeToolResponse {
            result_json: invocation.result.to_string(),
            is_error: invocation.is_error,
        }))
    }
}

fn to_proto(tool: &ToolSpec) -> Tool {
    Tool {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        input_schema_json: tool.input_schema.to_string(),
    }
}
