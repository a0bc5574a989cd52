//! Whether a refusal is the last word.

use confab_rpc::error::Reason;

/// Whether the same call would be refused again however often it is made. Other refusals pass: a
/// service comes back, a key is mended, a row is free again.
pub const fn is_final(reason: Reason) -> bool {
    match reason {
        Reason::InvalidArgument
        | Reason::SessionNotFound
        | Reason::RecordNotFound
        | Reason::SessionArchived
        | Reason::SessionExists
        | Reason::Protected
        | Reason::SessionBusy
        | Reason::Ambiguous
        | Reason::ThreadTarget
        | Reason::WaitRing
        | Reason::MaxHops
        | Reason::Visibility
        | Reason::ToolPolicy
        | Reason::SendPolicy
        | Reason::KeyReused
        | Reason::LabelInUse
        | Reason::TranscriptNotEmpty => true,
        Reason::Role
        | Reason::Unauthenticated
        | Reason::Limit
        | Reason::Stale
        | Reason::Unavailable
        | Reason::Deadline
        | Reason::Internal => false,
    }
}
