//! The delivery service.

use std::sync::Arc;

use confab_proto::runner::v1::delivery_service_server::DeliveryService;
use confab_proto::runner::v1::{ListDeliveriesRequest, ListDeliveriesResponse};
use tonic::{Request, Response, Status};

use super::render::Renderer;
use crate::commands::ListDeliveries;
use crate::context::Context;
use crate::records::Records;
use crate::store::RunnerStore;

/// The delivery service.
#[derive(Debug)]
pub struct DeliveryApi<S> {
    context: Arc<Context<S>>,
    records: Records<S>,
}

impl<S: RunnerStore> DeliveryApi<S> {
    /// Over the runner's context.
    pub fn new(context: &Arc<Context<S>>) -> Self {
        Self {
            context: Arc::clone(context),
            records: Records::new(Arc::clone(context)),
        }
    }
}

#[tonic::async_trait]
impl<S: RunnerStore> DeliveryService for DeliveryApi<S> {
    async fn list_deliveries(
        &self,
        request: Request<ListDeliveriesRequest>,
    ) -> Result<Response<ListDeliveriesResponse>, Status> {
        let admitted = self
            .context
            .gate
            .admit(request, ListDeliveries::parse)
            .await?;
        let page = self.records.deliveries(&admitted).await?;
        Ok(Response::new(
            Renderer::of(&self.context.settings()).deliveries(&page),
        ))
    }
}
