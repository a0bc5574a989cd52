//! Calls whose answers stay bytes: a client on the same machine that read its rows would be measured
//! too.

use confab_rpc::clients::Call;
use prost::bytes::{Buf as _, BufMut as _, Bytes};
use tonic::Request;
use tonic::Status;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;

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

/// One client's call, to be made again and again.
#[derive(Clone, Debug)]
pub(crate) struct RawCall {
    pub(crate) call: Call,
    pub(crate) path: &'static str,
    pub(crate) request: Bytes,
}

impl RawCall {
    /// The bytes of the answer.
    pub(crate) async fn make(&self) -> Bytes {
        let mut grpc = Grpc::new(self.call.clone()).max_decoding_message_size(64 << 20);
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static(self.path);
        let request = Request::new(self.request.clone());
        grpc.unary(request, path, Raw).await.unwrap().into_inner()
    }
}
