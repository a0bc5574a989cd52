//! The reply loop: how many turns, why it ends, and that the announce step follows every time.

use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{list, number, text};
use serde_json::{Value, json};

const REQUESTER: &str = "agent:asker:main";
const TARGET: &str = "agent:helper:slack:channel:c1";

/// A script that says these texts one after the other in the loop.
fn says(turns: &[&str]) -> Vec<Value> {
    let rule = |text: &&str| json!({ "step": "reply", "times": 1, "reply": text });
    turns.iter().map(rule).collect()
}

/// Sends one message from the requester to the target and returns the finished flow.
struct Talk {
    deployment: Deployment,
    flow: Value,
    _home: Home,
}

impl Talk {
    fn held(asker: Vec<Value>, mut helper: Vec<Value>, turns_max: u32) -> anyhow::Result<Self> {
        helper.push(json!({ "step": "send", "reply": "round 1" }));
        helper.push(json!({ "step": "announce", "reply": "announced: {message}" }));
        let agents = [
            script("asker", &Value::from(asker)),
            script("helper", &Value::from(helper)),
        ];
        let cap = json!({ "session": { "agentToAgent": { "maxPingPongTurns": turns_max } } });
        let home = Home::new(&config_with(&agents, cap))?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let client = &deployment.client;
        client.json(&[
            "sessions",
            "create",
            TARGET,
            "--channel",
            "slack",
            "--to",
            "channel:c1",
        ])?;
        client.json(&["chat", REQUESTER, "hello"])?;
        let message = json!({ "sessionKey": TARGET, "message": "question" });
        let sent = client.tool("sessions_send", &message, Some(REQUESTER))?;
        assert_eq!(text(&sent.json, "/reply")?, "round 1", "{}", sent.text);
        let run = client.json(&["runs", "get", &text(&sent.json, "/runId")?])?;
        let flow = client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
        Ok(Self {
            deployment,
            flow,
            _home: home,
        })
    }

    fn client(&self) -> &Client {
        &self.deployment.client
    }

    /// What the flow says of its loop: turns, stop reason, last speaker.
    fn outcome(&self) -> (Option<i64>, Option<&str>, Option<&str>) {
        let word = |name: &str| self.flow.get(name).and_then(Value::as_str);
        let turns = self.flow.get("turns").and_then(Value::as_i64);
        (turns, word("stopReason"), word("lastSpeaker"))
    }

    /// What left for the channel.
    fn announced(&self) -> anyhow::Result<Vec<String>> {
        let found = self.client().json(&["deliveries", "list"])?;
        list(&found, "/deliveries")?
            .iter()
            .map(|one| text(one, "/text"))
            .collect()
    }

    /// The session of each loop run, in order.
    fn speakers(&self) -> anyhow::Result<Vec<String>> {
        let found = self.client().json(&["runs", "list"])?;
        let runs = list(&found, "/runs")?.iter().rev();
        runs.filter(|run| run.get("step") == Some(&json!("reply")))
            .map(|run| text(run, "/sessionKey"))
            .collect()
    }
}

/// B022: the cap is exact, and the announce step still runs.
#[test]
fn without_a_skip_word_the_loop_ends_at_its_cap() -> anyhow::Result<()> {
    let talk = Talk::held(says(&["r1", "r3"]), says(&["t2", "t4"]), 2)?;
    assert_eq!(talk.outcome(), (Some(2), Some("max_turns"), Some("target")));
    assert_eq!(talk.speakers()?, [REQUESTER, TARGET]);
    assert_eq!(talk.announced()?, ["announced: question\n\nround 1\n\nt2"]);
    talk.deployment.stop()
}

/// B022: a cap of 0 is no loop and still an announce.
#[test]
fn with_a_cap_of_zero_there_is_no_turn_and_the_announce_follows() -> anyhow::Result<()> {
    let talk = Talk::held(Vec::new(), Vec::new(), 0)?;
    assert_eq!(talk.outcome(), (Some(0), None, None));
    assert_eq!(
        talk.announced()?,
        ["announced: question\n\nround 1\n\nround 1"]
    );
    talk.deployment.stop()
}

/// B022: nothing configured means five turns, the requester first and last.
#[test]
fn the_two_sides_take_turns_and_the_requester_begins() -> anyhow::Result<()> {
    let talk = Talk::held(says(&["r1", "r3", "r5"]), says(&["t2", "t4"]), 5)?;
    assert_eq!(
        talk.outcome(),
        (Some(5), Some("max_turns"), Some("requester"))
    );
    assert_eq!(
        talk.speakers()?,
        [REQUESTER, TARGET, REQUESTER, TARGET, REQUESTER]
    );
    talk.deployment.stop()
}

/// B019: the word alone stops; a mention or another case does not.
#[test]
fn only_the_exact_word_stops_the_loop() -> anyhow::Result<()> {
    let asker = says(&["I will not say REPLY_SKIP yet", " \n REPLY_SKIP \n"]);
    let talk = Talk::held(asker, says(&["reply_skip"]), 20)?;
    assert_eq!(
        talk.outcome(),
        (Some(3), Some("reply_skip"), Some("requester"))
    );
    let history = talk.client().history(TARGET)?;
    let words: Vec<String> = history
        .iter()
        .map(confab_tests::json::message_text)
        .collect();
    assert!(words.contains(&"reply_skip".to_owned()), "{words:?}");
    for session in [REQUESTER, TARGET] {
        for message in talk.client().history(session)? {
            let said = confab_tests::json::message_text(&message);
            assert_ne!(
                said.trim(),
                "REPLY_SKIP",
                "a skip word is shown in {session}"
            );
        }
    }
    assert_eq!(
        talk.announced()?,
        ["announced: question\n\nround 1\n\nreply_skip"]
    );
    talk.deployment.stop()
}

/// B028: an error ends the loop with its reason, and the last good reply is announced.
#[test]
fn an_error_in_the_loop_is_its_stop_reason_and_the_announce_follows() -> anyhow::Result<()> {
    let mut asker = says(&["r1"]);
    let error = json!({ "class": "broken", "message": "no more" });
    asker.push(json!({ "step": "reply", "error": error }));
    let talk = Talk::held(asker, says(&["t2"]), 5)?;
    assert_eq!(talk.outcome(), (Some(3), Some("error"), Some("requester")));
    assert_eq!(talk.announced()?, ["announced: question\n\nround 1\n\nt2"]);
    talk.deployment.stop()
}

#[test]
fn an_empty_reply_ends_the_loop() -> anyhow::Result<()> {
    let talk = Talk::held(says(&["r1"]), says(&[""]), 5)?;
    assert_eq!(talk.outcome(), (Some(2), Some("empty"), Some("target")));
    assert_eq!(talk.announced()?, ["announced: question\n\nround 1\n\nr1"]);
    talk.deployment.stop()
}

/// The operator is no session: there is nobody to talk back to.
#[test]
fn a_send_by_the_operator_has_no_loop_and_an_announce() -> anyhow::Result<()> {
    let talk = Talk::held(says(&["REPLY_SKIP"]), Vec::new(), 5)?;
    let client = talk.client();
    let message = json!({ "sessionKey": TARGET, "message": "from above" });
    let sent = client.tool("sessions_send", &message, None)?;
    assert_eq!(text(&sent.json, "/reply")?, "round 1", "{}", sent.text);
    let run = client.json(&["runs", "get", &text(&sent.json, "/runId")?])?;
    let flow = client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    assert_eq!(number(&flow, "/turns")?, 0, "{flow:#}");
    assert!(
        flow.get("stopReason").is_none() && flow.get("requester").is_none(),
        "{flow:#}"
    );
    assert_eq!(talk.announced()?.len(), 2);
    talk.deployment.stop()
}
