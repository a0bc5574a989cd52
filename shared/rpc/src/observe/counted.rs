//! A body that tells how its call ended.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use super::Ending;

/// Passes a body on and reads the code from its trailers. Its call ends with it.
pub(super) struct Counted {
    body: Body,
    ending: Ending,
}

impl Counted {
    pub(super) const fn new(body: Body, ending: Ending) -> Self {
        Self { body, ending }
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        // A stream does its work here, so its logs and calls belong to the call's span.
        let span = this.ending.span.clone();
        let _within = span.enter();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(trailers) = frame.trailers_ref()
        {
            this.ending.read(trailers);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
