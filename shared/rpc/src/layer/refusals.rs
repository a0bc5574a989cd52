//! What the transport refuses by itself, told like every other refusal.
//!
//! tonic answers a message that is too large or cannot be read before any service sees it, with codes
//! of its own and without `ErrorInfo`; callers are promised one form.

use std::future::Future;

use futures::FutureExt as _;
use http::{HeaderMap, Request, Response};
use tonic::body::Body;
use tonic::{Code, Status};

use super::{Around, Inner, Next, refuse};
use crate::error::{Reason, RpcError};
use crate::serve::MESSAGE_BYTES_MAX;

/// Where a status carries `ErrorInfo` and the like; the transport's own have none.
const DETAILS: &str = "grpc-status-details-bin";

/// Rewrites the transport's refusals.
///
/// Source: contract, Tools (each status carries `ErrorInfo`).
#[derive(Clone, Copy, Debug)]
pub struct Refusals;

impl Around for Refusals {
    fn around<S: Inner>(
        &self,
        request: Request<Body>,
        next: Next<S>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        let answer = next.run(request);
        answer.map(|response| match of_transport(response.headers()) {
            Some(refusal) => refuse(refusal),
            None => response,
        })
    }
}

/// The refusal that the transport meant, if the answer is one of its own.
fn of_transport(headers: &HeaderMap) -> Option<RpcError> {
    if headers.contains_key(DETAILS) {
        return None;
    }
    let code = Status::from_header_map(headers)?.code();
    if code == Code::OutOfRange {
        let message = format!(
            "the request is larger than {MESSAGE_BYTES_MAX} bytes; send less, or send it in parts"
        );
        Some(RpcError::new(Reason::Limit, message))
    } else if code == Code::Internal {
        let message = "the request cannot be read: it is no message of the type that the method \
                       takes, or holds text that is not UTF-8";
        Some(RpcError::new(Reason::InvalidArgument, message))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: Status) -> Option<(Reason, String)> {
        let refusal = of_transport(status.into_http::<Body>().headers())?;
        Some((refusal.reason, refusal.message))
    }

    #[test]
    fn what_the_transport_refuses_has_a_reason_of_the_contract() {
        let (reason, message) = told(Status::out_of_range("decoded message too large")).unwrap();
        assert_eq!(reason, Reason::Limit);
        assert!(message.contains("4194304"), "{message}");
        let (reason, _) = told(Status::internal("failed to decode Protobuf message")).unwrap();
        assert_eq!(reason, Reason::InvalidArgument);
    }

    #[test]
    fn what_a_service_answers_stays_as_it_is() {
        for status in [
            Status::from(RpcError::new(Reason::Internal, "internal error")),
            Status::from(RpcError::new(Reason::Visibility, "hidden")),
            Status::unimplemented("later"),
            Status::ok("done"),
        ] {
            assert_eq!(told(status), None);
        }
    }
}
