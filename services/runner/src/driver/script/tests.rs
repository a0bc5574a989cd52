use std::sync::Arc;

use confab_config::settings::Driver;
use confab_config::{Live, Source};
use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, ChainId, FlowId, RunId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::{Lane, RunState, Step};
use confab_store::ids::SequentialIds;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::driver::CallLog;
use crate::store::sqlite::SqliteRunnerStore;
use crate::wakeups::Wakeups;

fn stored(step: Step, input: &str) -> StoredRun {
    let run = Run {
        id: RunId::parse("r1").unwrap(),
        session_key: SessionKey::parse("agent:main:main").unwrap(),
        session_id: None,
        agent_id: AgentId::normalise("main"),
        step,
        turn: 3,
        lane: Lane::Nested,
        state: RunState::Running,
        input: input.to_owned(),
        prompt: format!("prompt of {input}"),
        notices: Vec::new(),
        provenance: None,
        reply: None,
        error: None,
        flow_id: FlowId::parse("f").unwrap(),
        parent_run_id: None,
        chain_id: ChainId::parse("c").unwrap(),
        hop: 0,
        attempts: 1,
        ordinal: 7,
        model: Some("m".to_owned()),
        usage: None,
        created_at: Timestamp::default(),
        started_at: None,
        ended_at: None,
    };
    StoredRun {
        tenant: TenantId::default(),
        run,
        step_id: confab_flow::exchange::StepId::Primary,
        store_input: true,
        lease_epoch: 1,
        trace: Vec::new(),
        trace_parent: None,
    }
}

/// A driver over a store that rules without `times` never ask.
struct Stage {
    store: SqliteRunnerStore,
    calls: CallLog,
    _directory: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let ids = Arc::new(SequentialIds::new());
        let wakeups = Wakeups::default();
        let store = SqliteRunnerStore::open(directory.path(), &tracker, &stop, wakeups, ids);
        Self {
            store: store.await.unwrap(),
            calls: CallLog::default(),
            _directory: directory,
        }
    }

    async fn run(&self, rules: Value, stored: &StoredRun) -> Outcome {
        let driver = json!({ "type": "script", "rules": rules, "default": "default {count}" });
        let config = json!({ "agents": { "list": [{ "id": "main", "driver": driver }] } });
        let (live, _) = Live::start(Source::inline(config.to_string())).unwrap();
        let settings = live.current();
        let Driver::Script(script) = &settings.agents.list()[0].driver else {
            panic!()
        };
        // Nobody listens there.
        let tools = confab_rpc::clients::connect("http://127.0.0.1:9").unwrap();
        let assignment = Assignment {
            stored,
            token: "token",
            settings: Arc::clone(&settings),
            calls: &self.calls,
        };
        run(script, &self.store, tools, assignment).await
    }

    async fn reply(&self, rules: Value, step: Step, input: &str) -> String {
        match self.run(rules, &stored(step, input)).await {
            Outcome::Replied { text, .. } => text,
            Outcome::Failed { error, .. } => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn the_first_rule_whose_step_and_match_fit_wins() {
    let stage = Stage::new().await;
    let rules = json!([
        { "step": "send", "match": "^b", "reply": "1" },
        { "match": "an+a", "reply": "2" },
        { "step": "send", "reply": "3" },
        { "step": "send", "match": "^b", "reply": "never" },
    ]);
    for (step, input, reply) in [
        (Step::Send, "banana", "1"),
        (Step::Reply, "banana", "2"),
        (Step::Send, "apple", "3"),
        (Step::Reply, "apple", "default 7"),
        (Step::Announce, "prompt", "default 7"),
    ] {
        assert_eq!(
            stage.reply(rules.clone(), step, input).await,
            reply,
            "{step:?} {input}"
        );
    }
}

#[tokio::test]
async fn a_match_looks_at_the_input_and_not_at_the_prompt() {
    let stage = Stage::new().await;
    let rules = json!([{ "match": "prompt of", "reply": "seen" }]);
    assert_eq!(stage.reply(rules, Step::Send, "hello").await, "default 7");
}

#[tokio::test]
async fn placeholders_and_captures_stand_for_the_run() {
    let stage = Stage::new().await;
    let reply = "{message}|{prompt}|{notices}|{session}|{agent}|{step}|{turn}|{count}|\
                 {toolResult}|$1|${2}|$3|$$1|{{x}";
    let rules = json!([{ "match": "(\\w+) (\\w+)(!)?", "reply": reply }]);
    let wanted = "ab cd|prompt of ab cd||agent:main:main|main|reply|3|7||ab|cd||$1|{x}";
    assert_eq!(stage.reply(rules, Step::Reply, "ab cd").await, wanted);
}

#[tokio::test]
async fn what_is_put_in_is_not_read_again() {
    let stage = Stage::new().await;
    let rules = json!([{ "match": "(.*)", "reply": "{message} $1" }]);
    let input = "{session} $1 {{";
    assert_eq!(
        stage.reply(rules, Step::Human, input).await,
        format!("{input} {input}")
    );
}

#[tokio::test]
async fn a_rule_without_a_reply_answers_nothing_and_usage_is_told() {
    let stage = Stage::new().await;
    let rules = json!([{ "usage": { "input": 5, "output": 2 } }]);
    let outcome = stage.run(rules, &stored(Step::Human, "x")).await;
    let usage = Some(Usage {
        input: 5,
        output: 2,
    });
    let model = Some("m".to_owned());
    assert_eq!(
        outcome,
        Outcome::Replied {
            text: String::new(),
            model,
            usage
        }
    );
}

#[tokio::test]
async fn an_error_ends_the_run_after_its_tools_were_called() {
    let stage = Stage::new().await;
    let rules = json!([{
        "match": "(.*)",
        "tools": [{ "name": "sessions_list", "arguments": { "search": "$1", "limit": 3 } }],
        "error": { "class": "rate_limited", "message": "later" },
    }]);
    let outcome = stage.run(rules, &stored(Step::Human, "x")).await;
    let Outcome::Failed { state, error } = outcome else {
        panic!()
    };
    assert_eq!(
        (state, error.class.as_str()),
        (RunState::Failed, "rate_limited")
    );
    // Nobody serves tools here: the call is refused, which is a result like any other.
    let trace = stage.calls.into_trace();
    let [call] = trace.as_slice() else { panic!() };
    assert_eq!((call.call_id.as_str(), call.is_error), ("r1:0", true));
    assert_eq!(
        Value::Object(call.arguments.clone()),
        json!({ "search": "x", "limit": 3 })
    );
    assert_eq!(call.result["status"], "error");
}

#[tokio::test]
async fn the_last_tools_result_can_be_said() {
    let stage = Stage::new().await;
    let rules = json!([{
        "tools": [{ "name": "a", "arguments": {} }, { "name": "b", "arguments": {} }],
        "reply": "{toolResult}",
    }]);
    let reply = stage.reply(rules, Step::Human, "x").await;
    let result: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(result["status"], "error");
}

#[tokio::test]
async fn a_rule_waits_before_its_first_interim_text_and_between_them() {
    let stage = Stage::new().await;
    tokio::time::pause();
    for (emit, pauses) in [
        (json!([]), 1),
        (json!(["a"]), 1),
        (json!(["a", "b", "c"]), 3),
    ] {
        let before = Instant::now();
        let rules = json!([{ "delayMs": 250, "emit": emit, "reply": "x" }]);
        stage.reply(rules, Step::Human, "x").await;
        // The timer counts whole milliseconds.
        assert_eq!(before.elapsed().as_millis() / 250, pauses);
    }
}

#[tokio::test]
async fn a_rule_that_hangs_never_answers() {
    let stage = Stage::new().await;
    tokio::time::pause();
    let run = stored(Step::Human, "x");
    let hanging = stage.run(json!([{ "hang": true, "reply": "x" }]), &run);
    tokio::time::timeout(Duration::from_hours(100), hanging)
        .await
        .unwrap_err();
}

#[tokio::test]
async fn the_notices_of_a_run_stand_above_its_prompt_and_nowhere_else() {
    // D57, D62
    let stage = Stage::new().await;
    let mut stored = stored(Step::Human, "a");
    stored.run.notices = vec!["first changed".to_owned(), "second changed".to_owned()];
    // What a rule looks for is looked for in the input alone.
    let rules = json!([
        { "match": "changed", "reply": "never" },
        { "reply": "{message}|{notices}|{prompt}" },
    ]);
    let Outcome::Replied { text, .. } = stage.run(rules, &stored).await else {
        panic!("it answers");
    };
    let lines = "first changed\nsecond changed";
    assert_eq!(text, format!("a|{lines}|{lines}\n\nprompt of a"));
}
