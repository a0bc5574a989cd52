//! Typed clients of the services, over the network or in process.
//!
//! A client is a generated one over a [`Call`], which adds what every call between services
//! carries: who calls, for whom, until when, and as part of which trace.
//!
//! ```no_run
//! # use confab_rpc::clients::{Call, Credentials, RegistryClient, connect};
//! # use confab_rpc::caller::Caller;
//! # use confab_proto::registry::v1::GetSessionRequest;
//! # async fn example(caller: Caller) -> Result<(), Box<dyn std::error::Error>> {
//! let call = Call::new(connect("http://127.0.0.1:7421")?, Credentials::service("runner", None));
//! let registry = RegistryClient::new(call);
//! let answer = registry.on_behalf_of(&caller).get_session(GetSessionRequest::default()).await?;
//! # Ok(())
//! # }
//! ```

mod authority;
mod call;
mod credentials;
mod network;
#[cfg(test)]
mod tests;

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use confab_proto::policy::v1::policy_service_client::PolicyServiceClient;
use confab_proto::registry::v1::registry_service_client::RegistryServiceClient;
use confab_proto::runner::v1::delivery_service_client::DeliveryServiceClient;
use confab_proto::runner::v1::runner_service_client::RunnerServiceClient;
use confab_proto::runner::v1::worker_service_client::WorkerServiceClient;
use confab_proto::tools::v1::tools_service_client::ToolsServiceClient;
use confab_proto::transcript::v1::transcript_service_client::TranscriptServiceClient;

use crate::caller::Caller;
use crate::serve::MESSAGE_BYTES_MAX;

pub use crate::layer::Transport;
pub use authority::RegistryAuthority;
pub use call::Call;
pub use credentials::Credentials;
pub use network::{AddressError, Unreachable, connect, connect_to};

macro_rules! client {
    ($(#[$doc:meta])* $name:ident, $generated:ident) => {
        $(#[$doc])*
        ///
        /// Derefs to the generated client, whose methods make the calls.
        #[derive(Clone, Debug)]
        pub struct $name {
            call: Call,
            generated: $generated<Call>,
        }

        impl $name {
            /// Calls by way of `call`.
            pub fn new(call: Call) -> Self {
                let generated = $generated::new(call.clone())
                    .max_decoding_message_size(MESSAGE_BYTES_MAX)
                    .max_encoding_message_size(MESSAGE_BYTES_MAX);
                Self { call, generated }
            }

            /// The same, for `caller`: see [`Call::on_behalf_of`].
            #[must_use]
            pub fn on_behalf_of(&self, caller: &Caller) -> Self {
                Self::new(self.call.on_behalf_of(caller))
            }

            /// The same for calls that wait up to `wait`: see [`Call::waiting`].
            #[must_use]
            pub fn waiting(&self, wait: Duration) -> Self {
                Self::new(self.call.waiting(wait))
            }

            /// The same for streams that last: see [`Call::lasting`].
            #[must_use]
            pub fn lasting(&self) -> Self {
                Self::new(self.call.lasting())
            }
        }

        impl Deref for $name {
            type Target = $generated<Call>;

            fn deref(&self) -> &Self::Target {
                &self.generated
            }
        }

        impl DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.generated
            }
        }
    };
}

client!(
    /// Sessions.
    RegistryClient, RegistryServiceClient
);
client!(
    /// Messages.
    TranscriptClient, TranscriptServiceClient
);
client!(
    /// Runs and flows.
    RunnerClient, RunnerServiceClient
);
client!(
    /// Workers.
    WorkerClient, WorkerServiceClient
);
client!(
    /// Deliveries.
    DeliveryClient, DeliveryServiceClient
);
client!(
    /// The session tools.
    ToolsClient, ToolsServiceClient
);
client!(
    /// Explanations.
    PolicyClient, PolicyServiceClient
);
