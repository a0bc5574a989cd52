//! What stands around every call: the drain, the deadline and the caller, as layers that wrap a
//! socket's service and a direct call alike.
//!
//! A layer here is an [`Around`]: a function from a request and what comes [`Next`] to a response.
//! A refusal is a proper gRPC answer, never a broken connection.

mod deadline;
mod drain;
mod refusals;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use confab_telemetry::Metrics;
use futures::future::BoxFuture;
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceExt as _};

use crate::caller::Caller;
use crate::error::{Reason, RpcError};
use crate::identity::Authenticator;
use crate::observe::Observe;
use crate::roles::{Verdict, verdict};

pub use deadline::{Deadline, timeout_value};
pub(crate) use deadline::{GRPC_TIMEOUT, timeout_of, too_late};
pub use drain::Drain;
pub use refusals::Refusals;

/// Where calls go: a network channel, or a service's own router in the same process.
pub type Transport = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// What a layer can wrap.
pub trait Inner:
    Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
{
}

impl<S> Inner for S where
    S: Service<
            Request<Body>,
            Response = Response<Body>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static
{
}

/// One concern around a call.
pub trait Around: Clone + fmt::Debug + Send + Sync + 'static {
    /// Answers the request, as a rule with the help of `next`.
    fn around<S: Inner>(
        &self,
        request: Request<Body>,
        next: Next<S>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static;
}

/// The rest of the way to the service.
#[derive(Debug)]
pub struct Next<S>(S);

impl<S: Inner> Next<S> {
    /// Passes the request on.
    pub async fn run(mut self, request: Request<Body>) -> Response<Body> {
        match self.0.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// An [`Around`] as a tower layer.
#[derive(Clone, Debug)]
pub struct AroundLayer<A>(pub A);

impl<A: Around, S> Layer<S> for AroundLayer<A> {
    type Service = AroundService<A, S>;

    fn layer(&self, inner: S) -> Self::Service {
        AroundService {
            around: self.0.clone(),
            inner,
        }
    }
}

/// A service with an [`Around`] in front of it.
#[derive(Clone, Debug)]
pub struct AroundService<A, S> {
    around: A,
    inner: S,
}

impl<A: Around, S: Inner> Service<Request<Body>> for AroundService<A, S> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The clone takes the place of the one that was found ready, which makes the call.
        let fresh = self.inner.clone();
        let ready = mem::replace(&mut self.inner, fresh);
        let answer = self.around.around(request, Next(ready));
        Box::pin(async move { Ok(answer.await) })
    }
}

/// The layers of every service, in their order: observe, drain, deadline, the transport's refusals,
/// caller.
#[derive(Clone, Debug)]
pub struct Stack {
    observe: Observe,
    drain: Drain,
    deadline: Deadline,
    callers: Callers,
}

impl Stack {
    /// The layers of one process: `authenticator` tells who calls, `metrics` counts the calls.
    pub fn new(authenticator: Arc<Authenticator>, metrics: &Metrics) -> Self {
        Self {
            observe: Observe::new(&metrics.meter("confab.rpc")),
            drain: Drain::default(),
            deadline: Deadline,
            callers: Callers(authenticator),
        }
    }

    /// What refuses new calls when the process stops.
    pub const fn drain(&self) -> &Drain {
        &self.drain
    }

    /// Who tells who calls.
    pub const fn authenticator(&self) -> &Arc<Authenticator> {
        &self.callers.0
    }

    /// The service behind `routes`, with the same layers, for callers in the same process.
    ///
    /// Its drain is never started: what calls in process is work that the drain lets finish.
    pub fn in_process(&self, routes: Routes) -> Transport {
        let stack = Self {
            drain: Drain::default(),
            ..self.clone()
        };
        let service = stack.layer(routes.prepare());
        BoxCloneSyncService::new(service.map_err(|never| match never {}))
    }
}

type Stacked<S> = AroundService<
    Observe,
    AroundService<
        Drain,
        AroundService<Deadline, AroundService<Refusals, AroundService<Callers, S>>>,
    >,
>;

impl<S> Layer<S> for Stack {
    type Service = Stacked<S>;

    fn layer(&self, inner: S) -> Self::Service {
        let known = AroundLayer(self.callers.clone()).layer(inner);
        let told = AroundLayer(Refusals).layer(known);
        let timed = AroundLayer(self.deadline).layer(told);
        let drained = AroundLayer(self.drain.clone()).layer(timed);
        AroundLayer(self.observe.clone()).layer(drained)
    }
}

/// Turns metadata into a [`Caller`] and refuses the methods its role does not have. Where a service
/// calls for another, that other must have the method.
#[derive(Clone, Debug)]
pub struct Callers(pub Arc<Authenticator>);

impl Around for Callers {
    fn around<S: Inner>(
        &self,
        mut request: Request<Body>,
        next: Next<S>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        let known = self.known(&request);
        async move {
            // Whoever shares the process could have put one there.
            request.extensions_mut().remove::<Caller>();
            match known {
                Ok(Some(caller)) => {
                    record(&caller);
                    request.extensions_mut().insert(caller);
                    next.run(request).await
                },
                Ok(None) => next.run(request).await,
                Err(refusal) => refuse(refusal),
            }
        }
    }
}

impl Callers {
    /// The caller, if it may call the method; nobody where the method is for everybody.
    fn known(&self, request: &Request<Body>) -> Result<Option<Caller>, RpcError> {
        let path = request.uri().path();
        let verdict = verdict(path);
        if verdict == Verdict::Exempt {
            return Ok(None);
        }
        let caller = self.0.authenticate(request.headers())?;
        let role = caller.role();
        let allowed = match verdict {
            Verdict::Exempt => true,
            Verdict::Roles(row) => row.allows(role),
            Verdict::Unlisted => false,
        };
        if allowed {
            Ok(Some(caller))
        } else {
            Err(wrong_role(role.as_str(), path))
        }
    }
}

fn wrong_role(role: &str, path: &str) -> RpcError {
    let method = path.trim_start_matches('/');
    let message = format!("role {role} may not call {method}; call it with a role that has it");
    RpcError::new(Reason::Role, message)
}

fn record(caller: &Caller) {
    let span = tracing::Span::current();
    span.record("caller.role", caller.role().as_str());
    span.record("caller.tenant", caller.tenant.as_str());
}

/// A refusal as the answer to a call.
pub(crate) fn refuse(refusal: RpcError) -> Response<Body> {
    Status::from(refusal).into_http()
}

/// A generated server with the size cap of the contract in both directions, and gzip for those who
/// ask for it: `confab_rpc::server!(RegistryServiceServer::new(service))`.
///
/// Source: contract, Binaries (size cap).
#[macro_export]
macro_rules! server {
    ($server:expr) => {
        $server
            .max_decoding_message_size($crate::serve::MESSAGE_BYTES_MAX)
            .max_encoding_message_size($crate::serve::MESSAGE_BYTES_MAX)
            .accept_compressed($crate::serve::GZIP)
            .send_compressed($crate::serve::GZIP)
    };
}
