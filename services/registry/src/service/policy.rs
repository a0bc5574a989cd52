//! `confab.policy.v1.PolicyService`, which lives beside the authority it explains.

use confab_proto::policy::v1::policy_service_server::PolicyService;

/// Explains decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolicyApi;

impl PolicyService for PolicyApi {}
