//! The registry as the authority, seen from the other services.

use std::future::Future;

use super::RegistryClient;
use crate::error::RpcError;
use crate::gate::{Answer, Authority, Question};
use crate::wire::authorize::{answer_from_proto, question_to_proto};

/// Asks the registry who may see and reach whom.
///
/// The question names its caller, so the call is the service's own.
#[derive(Clone, Debug)]
pub struct RegistryAuthority {
    registry: RegistryClient,
}

impl RegistryAuthority {
    /// Asks by way of `registry`.
    pub const fn new(registry: RegistryClient) -> Self {
        Self { registry }
    }
}

impl Authority for RegistryAuthority {
    fn authorize(
        &self,
        question: Question,
    ) -> impl Future<Output = Result<Answer, RpcError>> + Send {
        let mut registry = self.registry.clone();
        async move {
            let answer = registry.authorize(question_to_proto(question)).await;
            let answer = answer.map_err(|status| RpcError::from_status(&status))?;
            answer_from_proto(answer.into_inner()).map_err(RpcError::internal)
        }
    }
}
