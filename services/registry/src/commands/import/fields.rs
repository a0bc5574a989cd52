//! What an import keeps of a row, beside what names it and its times.

use confab_config::Settings;
use confab_model::channel::{ChatType, Route};
use confab_model::key::SessionKey;
use confab_model::limits::{MODEL_BYTES_MAX, ROUTE_FIELD_BYTES_MAX};
use confab_model::session::Origin;
use confab_model::session::levels::SpawnMode;
use confab_model::session::patch::{Change, Patch};
use confab_proto::registry::v1::SessionPatch;
use confab_proto::types::v1 as types;
use confab_rpc::error::Violations;
use confab_rpc::wire;

use crate::import::not_kept;
use crate::patch::{model_fault, settled};

/// What an import keeps of a row; absent: not given, or not kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedFields {
    /// Its label, its category and what tunes it.
    pub patch: Patch,
    /// The session that spawned it.
    pub spawned_by: Option<SessionKey>,
    /// Spawns above it.
    pub spawn_depth: Option<u32>,
    /// What it was spawned for.
    pub spawn_mode: Option<SpawnMode>,
    /// Whether its agent runs in a sandbox; a row cannot say that it does not.
    pub sandboxed: Option<bool>,
    /// What kind of chat it belongs to.
    pub chat_type: Option<ChatType>,
    /// Where it came from.
    pub origin: Origin,
    /// Where its answers go.
    pub delivery_context: Option<Route>,
    /// What its last run used.
    pub run: ImportedRun,
}

/// What is known of the last run of a session; absent: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedRun {
    /// The model that answered; one that the configuration does not know is history all the same.
    pub model: Option<String>,
    /// Tokens of the last call.
    pub total_tokens: Option<u64>,
    /// Tokens the run read.
    pub input_tokens: Option<u64>,
    /// Tokens the run wrote.
    pub output_tokens: Option<u64>,
}

impl ImportedFields {
    /// Reads the fields by the rules of patches and of creation. One that cannot be kept is left out,
    /// with a sentence that says why.
    ///
    /// Source: D7, reg:M12, reg:M18, reg:M19, reg:M20, reg:M21, reg:M22, reg:M23.
    pub(super) fn gather(
        settings: &Settings,
        key: &SessionKey,
        given: &types::Session,
    ) -> (Self, Vec<String>) {
        let mut reader = Reader {
            given,
            left_out: Vec::new(),
        };
        let mut patch = settled(settings, key, reader.patch(settings));
        let fields = Self {
            spawned_by: set(patch.spawned_by.take()),
            spawn_depth: set(patch.spawn_depth.take()),
            spawn_mode: reader.spawn_mode(),
            sandboxed: given.sandboxed.then_some(true),
            chat_type: reader.checked("chatType", |violations| {
                wire::enums::optional_enum_from_wire(given.chat_type, "chatType", violations)
            }),
            origin: reader.origin(),
            delivery_context: reader.checked("deliveryContext", |violations| {
                let route = given.delivery_context.clone();
                wire::route::route_from_wire(route, "deliveryContext", violations)
            }),
            run: ImportedRun {
                model: reader.text("model", given.model.clone(), MODEL_BYTES_MAX),
                total_tokens: reader.tokens("totalTokens", given.total_tokens),
                input_tokens: reader.tokens("inputTokens", given.input_tokens),
                output_tokens: reader.tokens("outputTokens", given.output_tokens),
            },
            patch,
        };
        (
            fields.without_stray_depth(key, &mut reader),
            reader.left_out,
        )
    }

    /// Only spawned sessions have a depth.
    ///
    /// Source: reg:M6.
    fn without_stray_depth(mut self, key: &SessionKey, reader: &mut Reader<'_>) -> Self {
        if self.spawn_depth.is_some() && !key.bears_lineage() {
            self.spawn_depth = None;
            reader.leave_out(
                "spawnDepth",
                "only subagent:* and acp:* sessions have a depth",
            );
        }
        self
    }
}

/// Reads fields one after the other and tells which cannot be kept.
struct Reader<'a> {
    given: &'a types::Session,
    left_out: Vec<String>,
}

impl Reader<'_> {
    fn leave_out(&mut self, field: &str, why: &str) {
        self.left_out.push(not_kept(self.given, field, why));
    }

    /// What `read` makes of a field; its violations say why it is left out.
    fn checked<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&mut Violations) -> Option<T>,
    ) -> Option<T> {
        let mut violations = Violations::default();
        let value = read(&mut violations);
        match violations.finish() {
            Ok(()) => value,
            Err(error) => {
                self.leave_out(field, &error.message);
                None
            },
        }
    }

    fn text(&mut self, field: &str, text: Option<String>, bytes_max: usize) -> Option<String> {
        self.checked(field, |violations| {
            wire::fields::optional_from_wire(text, bytes_max, field, violations)
        })
    }

    fn tokens(&mut self, field: &str, count: Option<i64>) -> Option<u64> {
        let count = count?;
        let read = u64::try_from(count).ok();
        if read.is_none() {
            self.leave_out(field, "tokens are counted from 0");
        }
        read
    }

    fn spawn_mode(&mut self) -> Option<SpawnMode> {
        let word = present(self.given.spawn_mode.as_ref())?;
        let mode = SpawnMode::parse(&word);
        if mode.is_none() {
            self.leave_out("spawnMode", "invalid spawnMode (use \"run\"|\"session\")");
        }
        mode
    }

    /// Each part stands for itself. A channel's name is folded, as that of a route is.
    fn origin(&mut self) -> Origin {
        let given = self.given.origin.clone().unwrap_or_default();
        let provider = given.provider.map(|name| name.trim().to_lowercase());
        let max = ROUTE_FIELD_BYTES_MAX;
        Origin {
            provider: self.text("origin.provider", provider, max),
            account_id: self.text("origin.accountId", given.account_id, max),
            thread_id: self.text("origin.threadId", given.thread_id, max),
        }
    }

    /// What a patch can set, by the rules of patches.
    fn patch(&mut self, settings: &Settings) -> Patch {
        let wire = patch_of(self.given);
        // Without a mask, nothing of it can be violated.
        let mut violations = Violations::default();
        let (mut patch, faults) =
            wire::patch::gather_from_wire(&wire, None, "session", &mut violations);
        let unknown = model_fault(settings, &patch);
        if unknown.is_some() {
            patch.model = None;
        }
        for fault in faults.into_iter().chain(unknown) {
            // A row calls its own model otherwise than a patch does.
            let field = match fault.field.as_str() {
                "model" => "modelOverride",
                field => field,
            };
            self.leave_out(field, &fault.message);
        }
        patch
    }
}

/// The row's fields as a patch has them; blanks count as nothing.
fn patch_of(given: &types::Session) -> SessionPatch {
    SessionPatch {
        spawned_by: present(given.spawned_by.as_ref()),
        spawn_depth: given.spawn_depth,
        label: present(given.label.as_ref()),
        category: present(given.category.as_ref()),
        thinking_level: present(given.thinking_level.as_ref()),
        fast_mode: present(given.fast_mode.as_ref()),
        verbose_level: present(given.verbose_level.as_ref()),
        trace_level: present(given.trace_level.as_ref()),
        reasoning_level: present(given.reasoning_level.as_ref()),
        response_usage: present(given.response_usage.as_ref()),
        elevated_level: present(given.elevated_level.as_ref()),
        exec_host: present(given.exec_host.as_ref()),
        exec_security: present(given.exec_security.as_ref()),
        exec_ask: present(given.exec_ask.as_ref()),
        exec_node: present(given.exec_node.as_ref()),
        model: present(given.model_override.as_ref()),
        send_policy: given.send_policy,
        group_activation: present(given.group_activation.as_ref()),
        ..SessionPatch::default()
    }
}

fn present(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).cloned()
}

/// What a change sets; a patch without a mask clears nothing.
fn set<T>(change: Option<Change<T>>) -> Option<T> {
    match change? {
        Change::Set(value) => Some(value),
        Change::Clear => None,
    }
}
