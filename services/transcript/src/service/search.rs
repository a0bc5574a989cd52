//! Searching over the wire.

use confab_proto::transcript::v1 as proto;
use confab_rpc::wire;
use confab_rpc::wire::enums::Numbered as _;

use crate::search::{SearchMatch, SearchPage};

/// The proto's form of a page of hits.
pub(super) fn page_to_proto(page: SearchPage) -> proto::SearchMessagesResponse {
    proto::SearchMessagesResponse {
        matches: page.matches.into_iter().map(match_to_proto).collect(),
        limit_applied: page.limit_applied.map(wire::numbers::to_i32),
    }
}

fn match_to_proto(one: SearchMatch) -> proto::SearchMatch {
    proto::SearchMatch {
        session_key: one.session_key.to_string(),
        session_id: one.session_id.to_string(),
        seq: wire::numbers::to_i64(one.seq),
        role: one.role.number(),
        excerpt: one.excerpt,
        said_at: Some(wire::time::to_proto(one.at)),
    }
}
