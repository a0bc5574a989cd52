//! Markers of compactions on their way into a transcript.

use confab_model::limits::MESSAGE_BYTES_MAX;
use confab_model::message::{Compaction, Role};
use confab_proto::types::v1 as proto;

use super::{count_from_wire, small_enough};
use crate::error::Violations;

/// Checks what a marker must be beside its compaction: an assistant's message without blocks. A role
/// that could not be read was told already.
pub(super) fn marker_from_wire(
    role: Option<Role>,
    blocks: usize,
    path: &dyn Fn(&str) -> String,
    violations: &mut Violations,
) {
    if let Some(role) = role.filter(|role| *role != Role::Assistant) {
        let field = path("role");
        let fault = format!(
            "{field} is {} beside a compaction; the marker of a compaction is of role assistant",
            role.as_str()
        );
        violations.push(field, fault);
    }
    if blocks > 0 {
        let field = path("blocks");
        let fault = format!(
            "{field} has {blocks} blocks beside a compaction; leave them out, and give the text as \
             compaction.summary"
        );
        violations.push(field, fault);
    }
}

/// Reads a compaction. Whether its first kept message lies before the marker is for the transcript
/// to say, which knows the marker's place.
pub(super) fn compaction_from_wire(
    wire: proto::Compaction,
    field: &str,
    violations: &mut Violations,
) -> Option<Compaction> {
    let path = |name: &str| format!("{field}.{name}");
    let summary = summary_from_wire(wire.summary, &path("summary"), violations);
    let first_kept_seq = wire.first_kept_seq.map(|seq| {
        let field = path("firstKeptSeq");
        let kept = u64::try_from(seq).ok().filter(|seq| *seq > 0);
        if kept.is_none() {
            let fault = format!("{field} is {seq}; give the sequence of a message, from 1");
            violations.push(field, fault);
        }
        kept
    });
    let tokens_before = wire
        .tokens_before
        .map(|tokens| count_from_wire(tokens, &path("tokensBefore"), violations));
    Some(Compaction {
        summary: summary?,
        first_kept_seq: first_kept_seq.flatten(),
        tokens_before: tokens_before.flatten(),
    })
}

fn summary_from_wire(text: String, field: &str, violations: &mut Violations) -> Option<String> {
    if text.is_empty() {
        violations.push(
            field,
            format!("{field} is empty; give 1 to {MESSAGE_BYTES_MAX} bytes"),
        );
        return None;
    }
    small_enough(text.len(), field, violations).then_some(text)
}
