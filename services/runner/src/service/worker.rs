//! External workers cannot attach yet: the generated default answers `UNIMPLEMENTED`.

use confab_proto::runner::v1::worker_service_server::WorkerService;

/// The worker service.
#[derive(Clone, Copy, Debug)]
pub struct WorkerApi;

#[tonic::async_trait]
impl WorkerService for WorkerApi {}
