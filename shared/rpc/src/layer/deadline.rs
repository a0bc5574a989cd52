//! The deadline a caller sets with `grpc-timeout`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;

use super::{Around, Inner, Next, refuse};
use crate::error::{Reason, RpcError};

/// Where the deadline travels.
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// Most digits of a timeout (gRPC over HTTP/2).
const DIGITS_MAX: usize = 8;
/// How much sooner than the transport's own clock, which would answer CANCELLED.
const HEAD_START: Duration = Duration::from_millis(1);

/// Ends a call whose time is over with `DEADLINE_EXCEEDED`, a stream in the middle included.
#[derive(Clone, Copy, Debug)]
pub struct Deadline;

impl Around for Deadline {
    fn around<S: Inner>(
        &self,
        request: Request<Body>,
        next: Next<S>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        let timeout = timeout_of(request.headers());
        let end = timeout
            .and_then(|timeout| Instant::now().checked_add(timeout.saturating_sub(HEAD_START)));
        async move {
            let Some(end) = end else {
                return next.run(request).await;
            };
            match tokio::time::timeout_at(end, next.run(request)).await {
                Ok(response) => response.map(|body| Body::new(Timed::new(body, end))),
                Err(_elapsed) => refuse(too_late()),
            }
        }
    }
}

pub(crate) fn too_late() -> RpcError {
    RpcError::new(
        Reason::Deadline,
        "the call took longer than its deadline; give it more time or ask for less",
    )
}

/// The timeout that the headers name; absent where they name none, or none that can be read.
pub(crate) fn timeout_of(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(GRPC_TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let readable = digits.len() <= DIGITS_MAX && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u64 = if readable {
        digits.parse().ok()?
    } else {
        return None;
    };
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// A timeout as `grpc-timeout` writes it: milliseconds while they fit, else seconds, at most the
/// largest that can be written.
pub fn timeout_value(timeout: Duration) -> HeaderValue {
    const LARGEST: u128 = 99_999_999;
    let milliseconds = timeout.as_millis();
    let text = if milliseconds <= LARGEST {
        format!("{milliseconds}m")
    } else {
        format!("{}S", u128::from(timeout.as_secs()).min(LARGEST))
    };
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("0m"))
}

/// A body that ends with `DEADLINE_EXCEEDED` when its time is over.
struct Timed {
    body: Body,
    sleep: Pin<Box<Sleep>>,
    over: bool,
}

impl Timed {
    fn new(body: Body, end: Instant) -> Self {
        Self {
            body,
            sleep: Box::pin(sleep_until(end)),
            over: false,
        }
    }
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_ready() || self.sleep.as_mut().poll(context).is_pending() {
            return frame;
        }
        self.over = true;
        let mut trailers = HeaderMap::new();
        Poll::Ready(Some(
            Status::from(too_late())
                .add_header(&mut trailers)
                .map(|()| Frame::trailers(trailers)),
        ))
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.body.is_end_stream() {
            self.body.size_hint()
        } else {
            SizeHint::default()
        }
    }
}
