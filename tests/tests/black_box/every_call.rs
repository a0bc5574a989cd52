//! Every method of every service × every caller × every target × every setting, through the real
//! gate of a real server: the decision is the same everywhere (B060).

mod calls;
mod methods;
mod oracle;

use std::collections::{BTreeMap, BTreeSet};

use confab_proto::registry::v1 as registry;
use confab_proto::types::v1::SessionTarget;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, Services, reason, refusal};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, text};
use futures::StreamExt as _;
use prost::Message as _;
use prost_types::{FieldMask, FileDescriptorSet};
use serde_json::{Value, json};

use self::calls::{Call, GREETING, Known, Shown, Telling, Walker, label};
use self::methods::{METHODS, ROLES, Row, walked};
use self::oracle::{
    BOXED, CALLERS, Form, MISSING, OWN, SESSIONS, SETTINGS, Setting, Verdict, exists, reaches,
    verdict,
};

/// Calls that are under way at the same time.
const AT_ONCE: usize = 24;
/// Wrong decisions that a failed test shows.
const SHOWN_MAX: usize = 20;

fn configured(setting: Setting) -> Value {
    let silent = json!([{ "step": "announce", "reply": "ANNOUNCE_SKIP" }]);
    let agents = ["writer", "editor"].map(|id| script(id, &silent));
    let mut config = config_with(&agents, json!({ "tools": null }));
    let change = json!({
        "session": { "agentToAgent": { "maxPingPongTurns": 0 } },
        "tools": {
            "sessions": { "visibility": setting.visibility },
            "agentToAgent": { "enabled": setting.enabled, "allow": setting.allow },
        },
    });
    confab_tests::json::merge(&mut config, change);
    config
}

/// The sessions of the walk, each with a label and an answered message.
fn prepare(client: &Client) -> anyhow::Result<BTreeMap<String, Known>> {
    let mut known = BTreeMap::new();
    for (key, spawned_by) in SESSIONS {
        let label = label(key);
        let mut words = vec!["sessions", "create", key, "--label", &label];
        if let Some(spawner) = spawned_by {
            words.extend(["--spawned-by", spawner]);
        }
        if key == BOXED {
            words.push("--sandboxed");
        }
        let session = client.json(&words)?;
        let run = client.json(&["chat", key, GREETING])?;
        let of_session = Known {
            generation: text(&session, "/sessionId")?,
            run: text(&run, "/runId")?,
            flow: text(&run, "/flowId")?,
        };
        known.insert(key.to_owned(), of_session);
    }
    Ok(known)
}

/// One question of the walk.
#[derive(Clone, Copy, Debug)]
struct Question {
    call: Call,
    /// The session that asks; absent: an operator.
    caller: Option<&'static str>,
    target: &'static str,
    form: Form,
}

fn questions() -> Vec<Question> {
    let callers = CALLERS.into_iter().map(Some).chain([None]);
    let targets: Vec<&str> = SESSIONS
        .iter()
        .map(|(key, _)| *key)
        .chain(MISSING)
        .collect();
    let mut questions = Vec::new();
    for caller in callers {
        for target in &targets {
            for call in walked() {
                for form in [Form::Key, Form::SessionId, Form::Label] {
                    if call.takes(form) {
                        questions.push(Question {
                            call,
                            caller,
                            target,
                            form,
                        });
                    }
                }
            }
        }
    }
    questions
}

fn expected(setting: Setting, question: &Question) -> Verdict {
    let Question {
        call,
        caller,
        target,
        form,
    } = *question;
    let found = if exists(target) {
        Verdict::Allowed
    } else {
        Verdict::NotFound
    };
    let Some(caller) = caller else {
        return found;
    };
    let reached = reaches(setting, caller, target);
    match call.telling() {
        Telling::Verdict => verdict(setting, caller, (target, form), call.changes()),
        Telling::Record | Telling::Shown if reached => found,
        Telling::Listed if reached && exists(caller) => found,
        Telling::Record | Telling::Shown | Telling::Listed => Verdict::NotFound,
    }
}

#[test]
fn every_call_decides_alike_for_every_caller_and_target_under_every_setting() -> anyhow::Result<()>
{
    let [first, others @ ..] = SETTINGS;
    let home = Home::new(&configured(first))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let grpc = Grpc::to(&deployment)?;
    let walker = Walker {
        services: grpc.services.clone(),
        known: prepare(&deployment.client)?,
    };
    let questions = questions();
    walk(&grpc, &walker, first, &questions);
    for setting in others {
        deployment.reload(&home, &configured(setting))?;
        walk(&grpc, &walker, setting, &questions);
    }
    deployment.stop()
}

/// Asks everything under one setting and demands what the oracle says.
fn walk(grpc: &Grpc, walker: &Walker, setting: Setting, questions: &[Question]) {
    let answers = futures::stream::iter(questions).map(|question| async move {
        let target = (question.target, question.form);
        (
            question,
            walker.ask(question.call, question.caller, target).await,
        )
    });
    let answers: Vec<_> = grpc.block_on(answers.buffer_unordered(AT_ONCE).collect());
    assert!(answers.len() > 2_000, "only {} questions", answers.len());
    let wrong: Vec<String> = answers
        .into_iter()
        .filter_map(|(question, answer)| {
            let expected = expected(setting, question);
            (answer != expected).then(|| format!("{question:?}: {answer:?}, not {expected:?}"))
        })
        .collect();
    let shown = wrong.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>();
    let number = wrong.len();
    assert!(
        wrong.is_empty(),
        "{setting:?}: {number} wrong\n{}",
        shown.join("\n")
    );
}

/// The methods of the protos, without `confab.`.
fn methods_of_the_protos() -> anyhow::Result<BTreeSet<String>> {
    let descriptors = FileDescriptorSet::decode(confab_proto::DESCRIPTORS)?;
    let mut names = BTreeSet::new();
    for file in &descriptors.file {
        for service in &file.service {
            for method in &service.method {
                let name = format!("{}.{}/{}", file.package(), service.name(), method.name());
                names.extend(name.strip_prefix("confab.").map(str::to_owned));
            }
        }
    }
    Ok(names)
}

#[test]
fn every_method_of_the_protos_has_a_row_or_a_reason_to_have_none() -> anyhow::Result<()> {
    let rows: BTreeSet<String> = METHODS
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    assert_eq!(rows.len(), METHODS.len(), "a method has two rows");
    assert_eq!(rows, methods_of_the_protos()?);
    for (name, _, row) in METHODS {
        match row {
            Row::Walked(calls) => assert!(!calls.is_empty(), "{name} is walked by no call"),
            Row::Exempt(why) => assert!(!why.is_empty(), "{name} is exempt for no reason"),
        }
    }
    Ok(())
}

/// Which role has which method is decided before anything is read, so empty requests will do.
#[test]
fn every_method_is_refused_to_every_role_that_does_not_have_it() -> anyhow::Result<()> {
    let home = Home::new(&configured(SETTINGS[7]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    prepare(&deployment.client)?;
    let grpc = Grpc::to(&deployment)?;
    for (name, callers, _) in METHODS {
        for role in ROLES {
            let refused = grpc.block_on(is_refused_to(&grpc.services, name, role))?;
            let allowed = role == "service" || callers.contains(&role);
            assert_eq!(refused, !allowed, "{name} as {role}");
        }
    }
    deployment.stop()
}

async fn is_refused_to(services: &Services, name: &str, role: &str) -> anyhow::Result<bool> {
    let caller = match role {
        "agent" => Caller::agent(OWN),
        "channel" => Caller::channel("slack"),
        "worker" => Caller::worker("writer"),
        "service" => Caller::service(),
        _ => Caller::operator(),
    };
    let (service, method) = name.split_once('/').unwrap_or_default();
    let service = format!("confab.{service}");
    let begun = services
        .stream::<(), ()>(&service, method, (), &caller)
        .await;
    Ok(begun.is_err_and(|status| reason(&status) == "ROLE"))
}

/// Contract, Identity: an agent patches its model and nothing else.
#[test]
fn an_agent_sets_no_field_but_the_model() -> anyhow::Result<()> {
    let home = Home::new(&configured(SETTINGS[2]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    prepare(&deployment.client)?;
    let grpc = Grpc::to(&deployment)?;
    for field in [
        "label",
        "send_policy",
        "pinned",
        "thinking_level",
        "spawned_by",
    ] {
        let asked = registry::PatchSessionRequest {
            target: Some(SessionTarget {
                session_key: Some(OWN.to_owned()),
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["model".to_owned(), field.to_owned()],
            }),
            ..Default::default()
        };
        let patched = grpc.call::<_, registry::PatchSessionResponse>(
            REGISTRY,
            "PatchSession",
            asked,
            &Caller::agent(OWN),
        );
        let refused = refusal(patched)?;
        assert_eq!(reason(&refused), "ROLE", "{field}: {}", refused.message());
        assert!(refused.message().contains("model"), "{}", refused.message());
    }
    deployment.stop()
}

/// Children under keys of subagents have no session tools at the default depth (reg:A11, reg:A13):
/// that is the tool policy's refusal, whatever visibility allows.
#[test]
fn a_subagent_is_refused_by_its_tools_before_its_reach_is_asked() -> anyhow::Result<()> {
    let home = Home::new(&configured(SETTINGS[7]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let known = prepare(client)?;
    let leaf = "agent:writer:subagent:0198c1a2-7b3c-7000-8000-000000000001";
    client.json(&["sessions", "create", leaf, "--spawned-by", OWN])?;
    assert_eq!(
        list(&client.json(&["tools", "--as", leaf])?, "/tools")?.len(),
        0
    );
    let grpc = Grpc::to(&deployment)?;
    let walker = Walker {
        services: grpc.services.clone(),
        known,
    };
    for call in walked() {
        let answer = grpc.block_on(walker.ask(call, Some(leaf), (leaf, Form::Key)));
        // Whoever may not use a tool may still follow up what one began, and anything is explained.
        if matches!(call, Call::Record(_) | Call::Shown(Shown::Explain)) {
            continue;
        }
        let Verdict::Other(told) = &answer else {
            anyhow::bail!("{call:?} was not refused by the tools: {answer:?}");
        };
        assert!(told.contains("TOOL_POLICY"), "{call:?}: {told}");
    }
    let refused = client.tool("sessions_list", &json!({}), Some(leaf))?;
    assert_eq!(refused.status, 3, "{}", refused.text);
    assert_eq!(at(&refused.json, "/reason")?, "TOOL_POLICY");
    deployment.stop()
}
