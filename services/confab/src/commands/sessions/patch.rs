//! `confab sessions patch`: a JSON merge patch.
//!
//! Source: contract (Command line), reg:M1.

use confab_model::session::patch::{Change, Patch};
use confab_proto::registry::v1::{PatchSessionRequest, SessionPatch};
use confab_proto::runner::v1::{ArchiveSessionRequest, RestoreSessionRequest};
use confab_proto::types::v1::Session;
use confab_rpc::error::Reason;
use confab_rpc::wire::patch::{from_json, patch_to_wire};
use prost_types::FieldMask;
use serde_json::{Map, Value};

use super::get;
use crate::cli::sessions::PatchSession;
use crate::commands::{input, present, target};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::screen::Screen;
use crate::render::{session, text};

/// Changes a session, all or nothing.
///
/// # Errors
/// When the text is no JSON object, or fields are refused, or a service cannot be reached.
pub(super) async fn run(
    services: &Services,
    args: PatchSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let asked = Asked::read(&input::text(&args.patch, "the patch")?)?;
    let before = session::record(&get(services, &args.key).await?)?;
    let (after, told) = asked.send(services, &args.key).await?;
    let record = session::record(&after)?;
    let changed = changes(&asked.names, &before, &record, told);
    screen.show(
        || record.put("changed", !changed.is_empty()).into(),
        |paint, now| {
            let card = session::card_of(&after, paint, now);
            format!("{}\n{card}", changed_line(&changed))
        },
    )?;
    Ok(Exit::Done)
}

/// A patch that was read.
#[derive(Debug)]
struct Asked {
    /// The fields it names.
    names: Vec<&'static str>,
    /// Archive or restore, in the same commit.
    archived: Option<bool>,
    /// All other fields.
    patch: SessionPatch,
    /// Which of them.
    mask: FieldMask,
}

impl Asked {
    /// Reads it; all faults are told together, before anything is called.
    fn read(text: &str) -> Result<Self, Failure> {
        let object = object(text)?;
        let mut patch = from_json(&object).map_err(|error| {
            Failure::from(error)
                .hint("what the session or the configuration forbids is told once this is mended")
        })?;
        let archived = patch.archived.take().map(|change| match change {
            Change::Set(archived) => archived,
            // A flag that is cleared is false.
            Change::Clear => false,
        });
        let (wire, mask) = patch_to_wire(&patch);
        Ok(Self {
            names: Patch::FIELDS
                .into_iter()
                .filter(|name| object.contains_key(*name))
                .collect(),
            archived,
            patch: wire,
            mask,
        })
    }

    /// Makes the call: the session as changed, and whether the service says that anything changed.
    async fn send(
        &self,
        services: &Services,
        key: &str,
    ) -> Result<(Session, Option<bool>), Failure> {
        let target = Some(target(key));
        let patch = Some(self.patch.clone());
        let update_mask = Some(self.mask.clone());
        let (session, told) = match self.archived {
            Some(true) => {
                let request = ArchiveSessionRequest {
                    target,
                    expected_session_id: None,
                    force: false,
                    idempotency_key: None,
                    patch,
                    update_mask,
                };
                let hint = format!("`confab sessions archive {key} --force` aborts its work first");
                let answered = answer(services.changing_runner().archive_session(request).await)
                    .map_err(|failure| failure.hint_on(Reason::SessionBusy, hint))?;
                (answered.session, None)
            },
            Some(false) => {
                let request = RestoreSessionRequest {
                    target,
                    idempotency_key: None,
                    patch,
                    update_mask,
                };
                let answered = answer(services.changing_runner().restore_session(request).await)?;
                (answered.session, None)
            },
            None => {
                let request = PatchSessionRequest {
                    target,
                    patch,
                    update_mask,
                    expected_row_version: None,
                    idempotency_key: None,
                };
                let answered = answer(services.registry().patch_session(request).await)?;
                (answered.session, Some(answered.changed))
            },
        };
        Ok((present(session, "the session")?, told))
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    let refused = |why: String| {
        Failure::usage(format!("the patch is no JSON object: {why}"))
            .hint("for example '{\"label\":\"drafts\",\"sendPolicy\":null}', in single quotes")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(refused(format!(
            "it is {}",
            text::cut(&other.to_string(), 40)
        ))),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Which of the fields that a patch names differ from before. Where somebody else wrote meanwhile,
/// the service's word counts more than the comparison.
fn changes(
    names: &[&'static str],
    before: &Fields,
    after: &Fields,
    told: Option<bool>,
) -> Vec<&'static str> {
    let differ = names.iter().copied();
    let differ: Vec<_> = differ
        .filter(|name| before.get(in_row(name)) != after.get(in_row(name)))
        .collect();
    match told {
        Some(false) => Vec::new(),
        Some(true) if differ.is_empty() => names.to_vec(),
        Some(true) | None => differ,
    }
}

/// What a row calls a field of a patch: its `model` is the one that ran.
fn in_row(name: &str) -> &str {
    if name == "model" {
        "modelOverride"
    } else {
        name
    }
}

fn changed_line(changed: &[&str]) -> String {
    if changed.is_empty() {
        "nothing changed".to_owned()
    } else {
        format!("changed: {}", changed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_json_object_is_a_usage_error() {
        for text in ["", "{", "[1]", "null", "\"label\"", "{'label':1}", "{} {}"] {
            let failure = Asked::read(text).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{text:?}");
            assert!(failure.hint.is_some(), "{text:?}");
        }
    }

    #[test]
    fn all_bad_fields_are_told_before_any_call() {
        let text = r#"{"label":7,"sendPolicy":"maybe","pinned":"x","colour":1}"#;
        let failure = Asked::read(text).unwrap_err();
        assert_eq!(failure.exit, Exit::Refused);
        let fields: Vec<_> = failure
            .fields
            .iter()
            .map(|one| one.field.as_str())
            .collect();
        for field in ["label", "sendPolicy", "pinned", "colour"] {
            assert!(fields.contains(&field), "{field}: {fields:?}");
        }
    }

    #[test]
    fn a_member_is_set_null_clears_and_what_is_absent_stays() {
        let asked = Asked::read(r#"{"label":"x","sendPolicy":null}"#).unwrap();
        assert_eq!(asked.names, ["label", "sendPolicy"]);
        assert_eq!(asked.patch.label.as_deref(), Some("x"));
        assert_eq!(asked.mask.paths, ["label", "send_policy"]);
        assert_eq!(asked.archived, None);
    }

    #[test]
    fn archiving_goes_beside_the_other_fields_and_not_among_them() {
        for (text, archived) in [
            (r#"{"archived":true,"category":"c"}"#, Some(true)),
            (r#"{"archived":false,"category":"c"}"#, Some(false)),
            (r#"{"archived":null,"category":"c"}"#, Some(false)),
        ] {
            let asked = Asked::read(text).unwrap();
            assert_eq!(asked.archived, archived, "{text}");
            assert_eq!(asked.patch.archived, None, "{text}");
            assert_eq!(asked.mask.paths, ["category"], "{text}");
            assert_eq!(asked.names, ["category", "archived"], "{text}");
        }
    }

    fn row(value: Value) -> Fields {
        let Value::Object(fields) = value else {
            panic!("a row is an object");
        };
        Fields::from(fields)
    }

    #[test]
    fn only_fields_that_differ_are_told_as_changed() {
        let before = row(json!({ "label": "x", "archived": false }));
        let after = row(json!({ "label": "x", "archived": true, "category": "c" }));
        let names = ["label", "category", "archived"];
        let told = |told| changes(&names, &before, &after, told);
        assert_eq!(told(None), ["category", "archived"]);
        assert_eq!(told(Some(true)), ["category", "archived"]);
        assert!(told(Some(false)).is_empty());
        assert_eq!(changes(&["label"], &before, &after, Some(true)), ["label"]);
        let ran = row(json!({ "model": "m1" }));
        let chosen = row(json!({ "model": "m1", "modelOverride": "m2" }));
        assert_eq!(changes(&["model"], &ran, &chosen, None), ["model"]);
        assert_eq!(changed_line(&told(None)), "changed: category, archived");
        assert_eq!(changed_line(&[]), "nothing changed");
    }
}
