//! A page of messages: which ones are asked for.

use confab_model::clock::Timestamp;
use confab_model::limits::{HISTORY_LIMIT_DEFAULT, HISTORY_LIMIT_MAX};
use confab_model::message::Role;
use confab_proto::transcript::v1 as proto;
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use confab_rpc::wire::limits::Limit;

use crate::limits::FILTER_ROLES_MAX;

/// Reads a page of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetHistory {
    /// The session.
    pub target: Target,
    /// Messages on the page.
    pub limit: Limit,
    /// Whether tool calls and results are shown.
    pub include_tools: bool,
    /// Only what the agent itself still reads.
    pub active_view: bool,
    /// Which messages.
    pub part: Part,
}

/// Which part of a transcript to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The newest ones.
    Tail {
        /// Messages to skip, counted back from the end; absent: the plain tail.
        offset: Option<u64>,
        /// The end of the walk, as a sequence; absent: the live one.
        snapshot: Option<u64>,
    },
    /// The newest ones that pass a filter.
    Filtered {
        /// What they must be.
        filter: Filter,
        /// Where the walk goes on, as a sequence; absent: at the live end.
        snapshot: Option<u64>,
    },
    /// The ones around a place.
    Around {
        /// The place, from 1; it need not be shown, and not be there.
        seq: u64,
    },
}

/// What a message must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of one of these roles; empty: of any.
    pub roles: Vec<Role>,
    /// Said at or after this moment.
    pub after: Option<Timestamp>,
    /// Said before this moment.
    pub before: Option<Timestamp>,
}

impl Filter {
    /// Whether a message of this role passes.
    pub fn passes(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }
}

impl GetHistory {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed, or that cannot stand beside another.
    ///
    /// Source: D20, D22, run:H4, run:H5.
    pub fn parse(wire: proto::GetHistoryRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        refuse_contradictions(&wire, &mut violations);
        let part = part_from_wire(&wire, &mut violations);
        let target = violations.keep(Target::required(wire.target, "target"));
        let limit = wire::limits::limit_from_wire(
            wire.limit,
            HISTORY_LIMIT_DEFAULT,
            HISTORY_LIMIT_MAX,
            "limit",
            &mut violations,
        );
        violations.finish()?;
        Ok(Self {
            target: target.unwrap_or_default(),
            limit,
            include_tools: wire.include_tools,
            active_view: wire.active_view,
            part,
        })
    }
}

/// An anchor names its place by itself, and what is filtered has no offset that could be counted.
fn refuse_contradictions(wire: &proto::GetHistoryRequest, violations: &mut Violations) {
    let offset = ("offset", wire.offset.is_some());
    let others = [
        offset,
        ("snapshot", wire.snapshot.is_some()),
        ("roles", !wire.roles.is_empty()),
        ("after", wire.after.is_some()),
        ("before", wire.before.is_some()),
    ];
    if wire.anchor_seq.is_some() {
        for (field, _) in others.into_iter().filter(|(_, given)| *given) {
            let fault = format!(
                "{field} cannot stand beside anchorSeq, which names the place by itself: leave \
                 one of them out"
            );
            violations.push(field, fault);
        }
    } else if is_filtered(wire) && wire.offset.is_some() {
        violations.push(
            "offset",
            "offset cannot stand beside roles, after or before: leave it out, and hand the \
             answer's nextSnapshot back as snapshot to read on",
        );
    }
}

const fn is_filtered(wire: &proto::GetHistoryRequest) -> bool {
    !wire.roles.is_empty() || wire.after.is_some() || wire.before.is_some()
}

fn part_from_wire(wire: &proto::GetHistoryRequest, violations: &mut Violations) -> Part {
    let offset = count_from_wire(wire.offset, "offset", violations);
    let snapshot = count_from_wire(wire.snapshot, "snapshot", violations);
    let filter = filter_from_wire(wire, violations);
    if let Some(given) = wire.anchor_seq {
        let seq = u64::try_from(given).ok().filter(|seq| *seq > 0);
        if seq.is_none() {
            violations.push(
                "anchorSeq",
                format!("anchorSeq is {given}: give the sequence of a message, from 1"),
            );
        }
        let seq = seq.unwrap_or_default();
        return Part::Around { seq };
    }
    if is_filtered(wire) {
        Part::Filtered { filter, snapshot }
    } else {
        Part::Tail { offset, snapshot }
    }
}

fn filter_from_wire(wire: &proto::GetHistoryRequest, violations: &mut Violations) -> Filter {
    let given = wire.roles.len();
    if given > FILTER_ROLES_MAX {
        let fault = format!("roles has {given} entries: give at most {FILTER_ROLES_MAX}");
        violations.push("roles", fault);
    }
    let mut roles = Vec::new();
    for (index, role) in wire.roles.iter().enumerate().take(FILTER_ROLES_MAX) {
        let path = format!("roles[{index}]");
        roles.extend(wire::enums::enum_from_wire::<Role>(
            *role, &path, violations,
        ));
    }
    let after = wire::time::time_from_wire(wire.after, "after", violations);
    let before = wire::time::time_from_wire(wire.before, "before", violations);
    if let (Some(after), Some(before)) = (after, before)
        && after >= before
    {
        violations.push(
            "before",
            "before must be later than after: between them is nothing",
        );
    }
    Filter {
        roles,
        after,
        before,
    }
}

impl Governed for GetHistory {
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

fn count_from_wire(given: Option<i64>, field: &str, violations: &mut Violations) -> Option<u64> {
    let given = given?;
    let count = u64::try_from(given).ok();
    if count.is_none() {
        let text = format!("{field} must be a non-negative integer: {given} is not");
        violations.push(field, text);
    }
    count
}
