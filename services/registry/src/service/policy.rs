//! `confab.policy.v1.PolicyService`, which lives beside the authority it explains.

use std::sync::Arc;

use confab_proto::policy::v1 as proto;
use confab_proto::policy::v1::policy_service_server::PolicyService;
use confab_rpc::gate::Gate;
use tonic::{Request, Response, Status};

use crate::Sessions;
use crate::authorize::{Explanation, GateVerdict, LocalAuthority};
use crate::commands::Explain;
use crate::store::RegistryStore;

/// Explains decisions.
#[derive(Debug)]
pub struct PolicyApi<S> {
    sessions: Arc<Sessions<S>>,
    gate: Gate<LocalAuthority<S>>,
}

impl<S: RegistryStore> PolicyApi<S> {
    /// Explains what `sessions` decides.
    pub fn new(sessions: Arc<Sessions<S>>) -> Self {
        let gate = Gate::new(LocalAuthority::new(Arc::clone(&sessions)));
        Self { sessions, gate }
    }
}

#[tonic::async_trait]
impl<S: RegistryStore> PolicyService for PolicyApi<S> {
    async fn explain(
        &self,
        request: Request<proto::ExplainRequest>,
    ) -> Result<Response<proto::ExplainResponse>, Status> {
        let call = self.gate.admit(request, Explain::parse).await?;
        Ok(Response::new(show(self.sessions.explain(call).await?)))
    }
}

fn show(explanation: Explanation) -> proto::ExplainResponse {
    proto::ExplainResponse {
        allowed: explanation.allowed(),
        session_key: explanation.session_key.to_string(),
        exists: explanation.exists,
        verdicts: explanation.verdicts.into_iter().map(show_verdict).collect(),
    }
}

fn show_verdict(verdict: GateVerdict) -> proto::GateVerdict {
    proto::GateVerdict {
        gate: verdict.gate.to_owned(),
        allowed: verdict.allowed,
        reason: verdict.reason,
        rule_index: verdict
            .rule_index
            .map(|index| i32::try_from(index).unwrap_or(i32::MAX)),
        remedy: verdict.remedy,
    }
}
