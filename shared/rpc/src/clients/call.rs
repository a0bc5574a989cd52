//! What every call carries, whoever makes it.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::task::{Context, Poll};
use std::time::Duration;

use confab_model::limits::SERVICE_CALL_SECONDS;
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use tonic::body::Body;
use tonic::{Status, TimeoutExpired};
use tower::{BoxError, Service, ServiceExt as _};

use super::{Credentials, Transport, Unreachable};
use crate::caller::Caller;
use crate::error::{Reason, RpcError};
use crate::identity::behalf;
use crate::layer::{GRPC_TIMEOUT, refuse, timeout_of, timeout_value, too_late};
use crate::observe::trace_context;

/// A way to a service with everything a call carries. Cheap to clone.
///
/// A call that fails before it is answered ends with `UNAVAILABLE`, one that takes too long with
/// `DEADLINE_EXCEEDED`.
#[derive(Clone, Debug)]
pub struct Call {
    transport: Transport,
    credentials: Credentials,
    behalf: Option<(HeaderName, HeaderValue)>,
    /// For calls that name none themselves; absent for streams that last.
    timeout: Option<Duration>,
}

impl Call {
    /// Calls through `transport` as `credentials` say, each for at most
    /// [`SERVICE_CALL_SECONDS`].
    pub const fn new(transport: Transport, credentials: Credentials) -> Self {
        let timeout = Some(Duration::from_secs(SERVICE_CALL_SECONDS));
        Self {
            transport,
            credentials,
            behalf: None,
            timeout,
        }
    }

    /// The same for `caller`, whom the other side then judges. Only services are believed.
    #[must_use]
    pub fn on_behalf_of(&self, caller: &Caller) -> Self {
        Self {
            behalf: Some(behalf::write(caller)),
            ..self.clone()
        }
    }

    /// The same for calls that wait up to `wait` for something to happen, and then need the time of
    /// any other call.
    #[must_use]
    pub fn waiting(&self, wait: Duration) -> Self {
        let timeout = wait.saturating_add(Duration::from_secs(SERVICE_CALL_SECONDS));
        Self {
            timeout: Some(timeout),
            ..self.clone()
        }
    }

    /// The same without a deadline, for streams that last until one side ends them.
    #[must_use]
    pub fn lasting(&self) -> Self {
        Self {
            timeout: None,
            ..self.clone()
        }
    }

    fn decorate(&self, headers: &mut HeaderMap) -> Result<(), RpcError> {
        self.credentials.write(headers)?;
        if let Some((name, value)) = &self.behalf {
            headers.insert(name, value.clone());
        }
        if let (Some(timeout), false) = (self.timeout, headers.contains_key(GRPC_TIMEOUT)) {
            headers.insert(GRPC_TIMEOUT, timeout_value(timeout));
        }
        trace_context::inject(headers);
        Ok(())
    }
}

impl Service<Request<Body>> for Call {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The transport is waited for within the call's deadline.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Err(refusal) = self.decorate(request.headers_mut()) {
            return Box::pin(async move { Ok(refuse(refusal)) });
        }
        let timeout = timeout_of(request.headers());
        let transport = self.transport.clone();
        Box::pin(async move {
            let answer = transport.oneshot(request);
            let answered = match timeout {
                Some(timeout) => tokio::time::timeout(timeout, answer).await,
                None => Ok(answer.await),
            };
            Ok(match answered {
                Ok(Ok(response)) => {
                    response.map(|body| Body::new(body.map_err(|status| broken(&status))))
                },
                Ok(Err(error)) => refuse(unanswered(&error)),
                Err(_elapsed) => refuse(too_late()),
            })
        })
    }
}

/// Why a call was not answered. The channel has a clock of its own for the same deadline.
fn unanswered(error: &BoxError) -> RpcError {
    if has_expired(error.as_ref()) {
        return too_late();
    }
    let message = error.downcast_ref::<Unreachable>().map_or_else(
        || "the service cannot be reached; try again in a moment".to_owned(),
        ToString::to_string,
    );
    tracing::debug!(%error, source = error.source(), "a call was not answered");
    RpcError::new(Reason::Unavailable, message)
}

fn has_expired(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<TimeoutExpired>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// A connection that breaks within an answer.
fn broken(status: &Status) -> Status {
    tracing::debug!(%status, "an answer broke off");
    RpcError::new(
        Reason::Unavailable,
        "the connection broke within the answer; try again",
    )
    .into()
}
