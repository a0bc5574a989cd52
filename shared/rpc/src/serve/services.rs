//! What a server serves: the services of its crates, and health and reflection beside them.

use std::convert::Infallible;

use axum::response::IntoResponse;
use http::Request;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::{Routes, RoutesBuilder};
use tonic_health::server::{HealthReporter, HealthService};
use tower::Service;

const HEALTH: &str = "grpc.health.v1.Health";
const REFLECTION_V1: &str = "grpc.reflection.v1.ServerReflection";
/// For clients such as Python's, which know no other.
const REFLECTION_V1ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection";

/// Generated services by name. Each is made with [`crate::server!`].
#[derive(Clone, Debug, Default)]
pub struct Services {
    routes: RoutesBuilder,
    names: Vec<&'static str>,
}

impl Services {
    /// Adds a generated server.
    pub fn add<S>(&mut self, server: S) -> &mut Self
    where
        S: Service<Request<Body>, Error = Infallible, Response: IntoResponse, Future: Send>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.routes.add_service(server);
        self.names.push(S::NAME);
        self
    }

    /// Their full names, in the order in which they were added.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Their routes, for [`crate::layer::Stack::in_process`].
    pub fn routes(&self) -> Routes {
        self.routes.clone().routes()
    }

    /// Their routes with health and reflection, and what tells their health.
    pub(super) fn served(
        &self,
    ) -> Result<(HealthReporter, Routes), tonic_reflection::server::Error> {
        let reporter = HealthReporter::new();
        let health = HealthService::from_health_reporter(reporter.clone());
        let health = tonic_health::pb::health_server::HealthServer::new(health);
        let routes = self
            .routes()
            .add_service(health)
            .add_service(self.reflection(REFLECTION_V1).build_v1()?)
            .add_service(self.reflection(REFLECTION_V1ALPHA).build_v1alpha()?);
        Ok((reporter, routes))
    }

    /// Lists what this server has, which is not all that the descriptors describe.
    fn reflection(&self, own_name: &str) -> tonic_reflection::server::Builder<'static> {
        let builder = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(confab_proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name(HEALTH)
            .with_service_name(own_name);
        self.names
            .iter()
            .fold(builder, |builder, name| builder.with_service_name(*name))
    }
}
