//! A trace goes on from one service to the next, over the network and in process.
//!
//! Alone in its process, because what listens to spans is a matter of the whole process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use confab_model::id::AgentId;
use confab_model::key::{KeyRules, Scope};
use confab_proto::tools::v1::tools_service_server::{ToolsService, ToolsServiceServer};
use confab_proto::tools::v1::{ListToolsRequest, ListToolsResponse, Tool};
use confab_rpc::clients::{Call, Credentials, ToolsClient, Transport, connect};
use confab_rpc::identity::{Authenticator, Named};
use confab_rpc::layer::Stack;
use confab_rpc::serve::{HttpListen, HttpSide, Listen, Server, Services};
use confab_telemetry::Metrics;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

/// Tells its own trace and those of the services behind it.
struct Tracing {
    behind: Option<Transport>,
}

#[tonic::async_trait]
impl ToolsService for Tracing {
    async fn list_tools(
        &self,
        _request: Request<ListToolsRequest>,
    ) -> Result<Response<ListToolsResponse>, Status> {
        let mut traces = vec![present_trace()];
        if let Some(behind) = &self.behind {
            traces.extend(traces_at(behind).await);
        }
        let tools = traces
            .into_iter()
            .map(|name| Tool {
                name,
                ..Tool::default()
            })
            .collect();
        Ok(Response::new(ListToolsResponse { tools }))
    }
}

fn present_trace() -> String {
    tracing::Span::current()
        .context()
        .span()
        .span_context()
        .trace_id()
        .to_string()
}

async fn traces_at(transport: &Transport) -> Vec<String> {
    let call = Call::new(transport.clone(), Credentials::Named(Named::default()));
    let answer = ToolsClient::new(call)
        .list_tools(ListToolsRequest::default())
        .await
        .unwrap();
    answer
        .into_inner()
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .collect()
}

fn stack(metrics: &Metrics) -> Stack {
    let agent = AgentId::normalise("main");
    let rules = move || KeyRules {
        agents: vec![agent.clone()],
        default_agent: agent.clone(),
        scope: Scope::PerSender,
    };
    Stack::new(Arc::new(Authenticator::open(Arc::new(rules))), metrics)
}

fn services(behind: Option<Transport>) -> Services {
    let mut services = Services::default();
    services.add(confab_rpc::server!(ToolsServiceServer::new(Tracing {
        behind
    })));
    services
}

#[tokio::test]
async fn every_service_on_the_way_works_in_the_trace_of_the_first_caller() {
    opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
    let provider = SdkTracerProvider::builder().build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();

    let metrics = Metrics::unexported().unwrap();
    let stack = stack(&metrics);
    let last = stack.in_process(services(None).routes());
    let server = Server {
        name: "confab-runner",
        stack,
        services: services(Some(last)),
        listen: Listen {
            grpc: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            http: HttpListen::Off,
        },
        http: HttpSide {
            fingerprint: Arc::new(String::new),
            checks: Vec::new(),
            metrics,
        },
    };
    let server = server.bind().await.unwrap();
    let first = connect(&format!("http://{}", server.grpc_address())).unwrap();
    let stop = CancellationToken::new();
    let ended = TaskTracker::new().spawn(server.serve(stop.clone()));

    let span = tracing::info_span!("caller");
    let trace = span.context().span().span_context().trace_id().to_string();
    let traces = traces_at(&first).instrument(span).await;
    assert_eq!(traces, [trace.clone(), trace]);

    stop.cancel();
    ended.await.unwrap().unwrap();
}
