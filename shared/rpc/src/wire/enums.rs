//! Enums: the model's have no "not told", the protos' begin with it.

use confab_model::channel::ChatType;
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryMode, DeliveryStatus, FlowKind, FlowState, Party, StopReason};
use confab_model::key::SessionKind;
use confab_model::message::{ProvenanceKind, Role};
use confab_model::run::{Lane, MessageState, RunState, Step};
use confab_model::session::SendAction;
use confab_proto::registry::v1 as registry;
use confab_proto::types::v1 as proto;

use super::WireError;
use crate::error::Violations;
use crate::gate::Action;

/// An enum of the model that has a twin in the protos.
pub trait Numbered: Copy + Sized + 'static {
    /// The twin's names, in the order of the proto.
    const NAMES: &'static [&'static str];

    /// The twin's number; never 0.
    fn number(self) -> i32;

    /// The value a number means; `None` for 0 and for numbers this version does not know.
    fn of(number: i32) -> Option<Self>;
}

macro_rules! numbered {
    ($($model:ident = $module:ident::$proto:ident { $($variant:ident => $name:literal),+ $(,)? })+) => {
        $(impl Numbered for $model {
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn number(self) -> i32 {
                i32::from(match self { $(Self::$variant => $module::$proto::$variant),+ })
            }

            fn of(number: i32) -> Option<Self> {
                match $module::$proto::try_from(number).ok()? {
                    $module::$proto::Unspecified => None,
                    $($module::$proto::$variant => Some(Self::$variant),)+
                }
            }
        })+

        /// Every name in this file beside the name that the proto has.
        #[cfg(test)]
        pub(super) fn names() -> Vec<(&'static str, &'static str)> {
            vec![$($(($name, $module::$proto::$variant.as_str_name())),+),+]
        }
    };
}

numbered! {
    SessionKind = proto::SessionKind {
        Main => "SESSION_KIND_MAIN", Group => "SESSION_KIND_GROUP", Cron => "SESSION_KIND_CRON",
        Hook => "SESSION_KIND_HOOK", Node => "SESSION_KIND_NODE", Other => "SESSION_KIND_OTHER",
    }
    ChatType = proto::ChatType {
        Direct => "CHAT_TYPE_DIRECT", Group => "CHAT_TYPE_GROUP", Channel => "CHAT_TYPE_CHANNEL",
    }
    SendAction = proto::SendPolicy {
        Allow => "SEND_POLICY_ALLOW", Deny => "SEND_POLICY_DENY",
    }
    Role = proto::Role {
        User => "ROLE_USER", Assistant => "ROLE_ASSISTANT", ToolResult => "ROLE_TOOL_RESULT",
    }
    ProvenanceKind = proto::ProvenanceKind {
        ExternalUser => "PROVENANCE_KIND_EXTERNAL_USER",
        InterSession => "PROVENANCE_KIND_INTER_SESSION",
        InternalSystem => "PROVENANCE_KIND_INTERNAL_SYSTEM",
    }
    Step = proto::Step {
        Human => "STEP_HUMAN", Send => "STEP_SEND", Reply => "STEP_REPLY",
        Announce => "STEP_ANNOUNCE", Task => "STEP_TASK", Completion => "STEP_COMPLETION",
        Notice => "STEP_NOTICE", Resume => "STEP_RESUME",
    }
    Lane = proto::Lane {
        Main => "LANE_MAIN", Nested => "LANE_NESTED", Subagent => "LANE_SUBAGENT",
    }
    RunState = proto::RunState {
        Queued => "RUN_STATE_QUEUED", Running => "RUN_STATE_RUNNING",
        Waiting => "RUN_STATE_WAITING", Succeeded => "RUN_STATE_SUCCEEDED",
        Failed => "RUN_STATE_FAILED", TimedOut => "RUN_STATE_TIMED_OUT",
        Cancelled => "RUN_STATE_CANCELLED", Killed => "RUN_STATE_KILLED",
        Interrupted => "RUN_STATE_INTERRUPTED",
    }
    MessageState = proto::MessageState {
        Stored => "MESSAGE_STATE_STORED", Started => "MESSAGE_STATE_STARTED",
        Replied => "MESSAGE_STATE_REPLIED",
    }
    FlowKind = proto::FlowKind {
        Send => "FLOW_KIND_SEND", Spawn => "FLOW_KIND_SPAWN", Human => "FLOW_KIND_HUMAN",
    }
    FlowState = proto::FlowState {
        Primary => "FLOW_STATE_PRIMARY", ReplyLoop => "FLOW_STATE_REPLY_LOOP",
        Announce => "FLOW_STATE_ANNOUNCE", Delivering => "FLOW_STATE_DELIVERING",
        Done => "FLOW_STATE_DONE",
    }
    StopReason = proto::StopReason {
        ReplySkip => "STOP_REASON_REPLY_SKIP", MaxTurns => "STOP_REASON_MAX_TURNS",
        Empty => "STOP_REASON_EMPTY", Error => "STOP_REASON_ERROR",
    }
    Party = proto::Party {
        Requester => "PARTY_REQUESTER", Target => "PARTY_TARGET",
    }
    DeliveryMode = proto::DeliveryMode {
        Announce => "DELIVERY_MODE_ANNOUNCE", Reply => "DELIVERY_MODE_REPLY",
        None => "DELIVERY_MODE_NONE",
    }
    DeliveryStatus = proto::DeliveryStatus {
        Pending => "DELIVERY_STATUS_PENDING", Delivered => "DELIVERY_STATUS_DELIVERED",
        Skipped => "DELIVERY_STATUS_SKIPPED", Blocked => "DELIVERY_STATUS_BLOCKED",
        None => "DELIVERY_STATUS_NONE", Failed => "DELIVERY_STATUS_FAILED",
    }
    DeliveryState = proto::DeliveryState {
        Pending => "DELIVERY_STATE_PENDING", Sending => "DELIVERY_STATE_SENDING",
        Delivered => "DELIVERY_STATE_DELIVERED", Blocked => "DELIVERY_STATE_BLOCKED",
        Failed => "DELIVERY_STATE_FAILED", Expired => "DELIVERY_STATE_EXPIRED",
    }
    Action = registry::Action {
        Read => "ACTION_READ", History => "ACTION_HISTORY", Status => "ACTION_STATUS",
        List => "ACTION_LIST", Send => "ACTION_SEND", HumanMessage => "ACTION_HUMAN_MESSAGE",
        StartRun => "ACTION_START_RUN", Create => "ACTION_CREATE", Patch => "ACTION_PATCH",
        Lifecycle => "ACTION_LIFECYCLE", Record => "ACTION_RECORD", Append => "ACTION_APPEND",
        FlowRun => "ACTION_FLOW_RUN", Deliver => "ACTION_DELIVER",
        Search => "ACTION_SEARCH",
    }
}

/// The number of a value that may be absent; 0 where it is.
pub fn optional_number<T: Numbered>(value: Option<T>) -> i32 {
    value.map_or(0, T::number)
}

/// Reads a value that every record has.
///
/// # Errors
/// When it is not told or not known.
pub fn from_proto<T: Numbered>(number: i32, field: &'static str) -> Result<T, WireError> {
    super::required(optional_from_proto(number, field)?, field)
}

/// Reads a value that may be absent.
///
/// # Errors
/// When it is not known.
pub fn optional_from_proto<T: Numbered>(
    number: i32,
    field: &'static str,
) -> Result<Option<T>, WireError> {
    match (number, T::of(number)) {
        (0, _) => Ok(None),
        (_, Some(value)) => Ok(Some(value)),
        (_, None) => Err(WireError::UnknownNumber { field, number }),
    }
}

/// Reads a value that a caller must give.
pub fn enum_from_wire<T: Numbered>(
    number: i32,
    field: &str,
    violations: &mut Violations,
) -> Option<T> {
    if number == 0 {
        let allowed = T::NAMES.join(", ");
        violations.push(field, format!("{field} is missing; give one of {allowed}"));
    }
    optional_enum_from_wire(number, field, violations)
}

/// Reads a value that a caller may leave out.
pub fn optional_enum_from_wire<T: Numbered>(
    number: i32,
    field: &str,
    violations: &mut Violations,
) -> Option<T> {
    let value = T::of(number);
    if value.is_none() && number != 0 {
        let allowed = T::NAMES.join(", ");
        violations.push(
            field,
            format!("{field} has the unknown value {number}; give one of {allowed}"),
        );
    }
    value
}

/// Reads a list of values that a caller gave, for example the kinds to list.
///
/// Source: D15.
pub fn enums_from_wire<T: Numbered>(
    numbers: &[i32],
    field: &str,
    violations: &mut Violations,
) -> Vec<T> {
    let mut values = Vec::with_capacity(numbers.len());
    for (index, number) in numbers.iter().enumerate() {
        let path = format!("{field}[{index}]");
        values.extend(enum_from_wire::<T>(*number, &path, violations));
    }
    values
}
