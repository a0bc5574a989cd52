//! Calls whose answers stay bytes: a client on the same machine that read its rows would be measured
//! too.

use std::fmt;
use std::sync::Arc;

use confab_rpc::clients::Call;
use prost::Message;
use prost::bytes::{Buf as _, BufMut as _, Bytes};
use tonic::Request;
use tonic::Status;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;

/// More than any answer has.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Messages as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(length)))
    }
}

/// What a client asks for.
#[derive(Clone)]
enum Asking {
    /// The same again and again.
    Same(Bytes),
    /// Something new each time.
    Fresh(Arc<dyn Fn() -> Bytes + Send + Sync>),
}

/// One client's call, to be made again and again.
#[derive(Clone)]
pub struct RawCall {
    call: Call,
    path: &'static str,
    asking: Asking,
}

impl RawCall {
    /// A call of the method at `path` whose request is the same each time.
    pub fn same(call: Call, path: &'static str, request: &impl Message) -> Self {
        Self::bytes(call, path, Bytes::from(request.encode_to_vec()))
    }

    /// A call whose request is made anew each time.
    pub fn fresh<M: Message>(
        call: Call,
        path: &'static str,
        request: impl Fn() -> M + Send + Sync + 'static,
    ) -> Self {
        let encoded = move || Bytes::from(request().encode_to_vec());
        Self {
            call,
            path,
            asking: Asking::Fresh(Arc::new(encoded)),
        }
    }

    /// A call whose request is these bytes.
    pub(crate) const fn bytes(call: Call, path: &'static str, request: Bytes) -> Self {
        Self {
            call,
            path,
            asking: Asking::Same(request),
        }
    }

    /// The bytes of the answer.
    pub async fn make(&self) -> Bytes {
        let mut grpc = Grpc::new(self.call.clone()).max_decoding_message_size(ANSWER_BYTES_MAX);
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static(self.path);
        let request = match &self.asking {
            Asking::Same(request) => request.clone(),
            Asking::Fresh(request) => request(),
        };
        let answer = grpc.unary(Request::new(request), path, Raw).await;
        answer.unwrap().into_inner()
    }
}

impl fmt::Debug for RawCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RawCall")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
