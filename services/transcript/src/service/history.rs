//! Pages of messages and ends of transcripts, as protos.

use confab_proto::transcript::v1 as proto;
use confab_rpc::wire;

use crate::history::{HistoryPage, Paging};
use crate::tails::SessionTail;

pub(super) fn page_to_proto(page: HistoryPage) -> proto::GetHistoryResponse {
    let bounded = page.bounded;
    proto::GetHistoryResponse {
        session_key: page.session_key.to_string(),
        display_key: page.display_key,
        session_id: page.session_id.to_string(),
        truncated: bounded.is_truncated(),
        dropped_messages: bounded.dropped_messages,
        content_truncated: bounded.content_truncated,
        content_redacted: bounded.content_redacted,
        bytes: i64::try_from(bounded.bytes).unwrap_or(i64::MAX),
        messages: bounded
            .messages
            .iter()
            .map(|(message, placeholder)| proto::ShownMessage {
                message: Some(wire::message::to_proto(message)),
                placeholder: *placeholder,
            })
            .collect(),
        limit_applied: page.limit_applied.map(wire::numbers::to_i32),
        paging: page.paging.map(paging_to_proto),
        compaction: page
            .compaction
            .as_ref()
            .map(wire::message::compaction_to_proto),
        skipped_rows: wire::numbers::to_i64(bounded.skipped_rows),
        next_snapshot: page.next_snapshot.map(wire::numbers::to_i64),
    }
}

fn paging_to_proto(paging: Paging) -> proto::HistoryPaging {
    proto::HistoryPaging {
        offset: wire::numbers::to_i64(paging.offset),
        total_messages: wire::numbers::to_i64(paging.total_messages),
        has_more: paging.next_offset.is_some(),
        next_offset: paging.next_offset.map(wire::numbers::to_i64),
        snapshot: wire::numbers::to_i64(paging.snapshot),
    }
}

pub(super) fn tail_to_proto(tail: SessionTail) -> proto::SessionTail {
    proto::SessionTail {
        session_key: tail.session_key.to_string(),
        messages: tail.messages.iter().map(wire::message::to_proto).collect(),
        first_user_text: tail.first_user_text,
    }
}
