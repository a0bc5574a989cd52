//! Stopping: new calls are refused, running ones finish.

use std::future::Future;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;

use super::{Around, Inner, Next, refuse};
use crate::error::{Reason, RpcError};
use crate::roles::{Verdict, verdict};

/// A flag shared by everything that serves calls. Clones share it.
///
/// Health and reflection are neither refused nor waited for.
///
/// Source: contract, Binaries (graceful drain).
#[derive(Clone, Debug, Default)]
pub struct Drain {
    started: CancellationToken,
    calls: TaskTracker,
}

impl Drain {
    /// Refuses every call from here on.
    pub fn start(&self) {
        self.started.cancel();
        self.calls.close();
    }

    /// Whether calls are refused.
    pub fn is_started(&self) -> bool {
        self.started.is_cancelled()
    }

    /// Ends when the drain starts; endless streams end themselves with it.
    pub const fn started(&self) -> &CancellationToken {
        &self.started
    }

    /// Ends when the drain has started and no call is running, its answer sent.
    pub async fn idle(&self) {
        self.calls.wait().await;
    }

    /// How many calls are running.
    pub fn running(&self) -> usize {
        self.calls.len()
    }
}

impl Around for Drain {
    fn around<S: Inner>(
        &self,
        request: Request<Body>,
        next: Next<S>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        let exempt = verdict(request.uri().path()) == Verdict::Exempt;
        // Counted before the flag is read: a call that is let in is waited for.
        let counted = (!exempt).then(|| self.calls.token());
        let refused = !exempt && self.is_started();
        async move {
            if refused {
                return refuse(stopping());
            }
            let response = next.run(request).await;
            match counted {
                // The call runs until its body is read or dropped.
                Some(token) => response.map(|body| {
                    Body::new(body.map_frame(move |frame| {
                        let _running = &token;
                        frame
                    }))
                }),
                None => response,
            }
        }
    }
}

fn stopping() -> RpcError {
    RpcError::new(
        Reason::Unavailable,
        "the service is stopping; try again in a moment",
    )
}
