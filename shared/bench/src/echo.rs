//! The floor: a service that answers with as many bytes as it is asked for.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::Ipv4Addr;
use std::task::{Context, Poll};

use prost::bytes::{Buf as _, Bytes};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::raw::{Raw, RawCall};
use crate::serve;

const PATH: &str = "/confab.bench.v1.EchoService/Echo";

/// More than any answer has.
const BYTES_MAX: usize = 16 << 20;

/// A served echo.
#[derive(Clone, Debug)]
pub struct Echo {
    url: String,
}

impl Echo {
    /// Serves until `stopped`.
    pub async fn start(tasks: &TaskTracker, stopped: CancellationToken) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let service = EchoService {
            filler: Bytes::from(vec![b'x'; BYTES_MAX]),
        };
        let router = Server::builder().add_service(service);
        tasks.spawn(async move {
            let ended = router.serve_with_incoming_shutdown(incoming, stopped.cancelled());
            ended.await.unwrap();
        });
        Self { url }
    }

    /// A client on a connection of its own that asks for `bytes`.
    pub fn call(&self, bytes: usize) -> RawCall {
        let request = u64::try_from(bytes).unwrap().to_be_bytes();
        let call = serve::client(&self.url, None);
        RawCall::bytes(call, PATH, Bytes::copy_from_slice(&request))
    }
}

#[derive(Clone, Debug)]
struct EchoService {
    filler: Bytes,
}

impl NamedService for EchoService {
    const NAME: &'static str = "confab.bench.v1.EchoService";
}

impl Service<http::Request<Body>> for EchoService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = self.clone();
        Box::pin(async move { Ok(Grpc::new(Raw).unary(method, request).await) })
    }
}

impl UnaryService<Bytes> for EchoService {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let bytes = usize::try_from(request.into_inner().get_u64()).unwrap();
        ready(Ok(Response::new(self.filler.slice(..bytes))))
    }
}
