//! Every family of credentials in every place where text can be: no answer tells any of them.
//!
//! Source: D23, D60, D77, run:R0, run:R19, B164.

mod families;

use anyhow::{Context as _, ensure};
use confab_proto::transcript::v1 as transcript;
use confab_proto::types::v1 as types;
use confab_proto::types::v1::block::Content;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, TRANSCRIPT, session};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, text};
use prost_types::{Struct, Value as Field, value::Kind};
use serde_json::{Value, json};

use self::families::{Planted, all};

/// The word that every planted message holds.
const WORD: &str = "needle";
/// Rows on a page of a list, and more than a search tells at once.
const PAGE: usize = 100;

fn key(place: usize) -> String {
    format!("agent:main:secret-{place}")
}

/// A home in which each secret is also what a run fails with.
fn home(planted: &[Planted]) -> anyhow::Result<Home> {
    let rules: Vec<Value> = planted
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let error = json!({ "class": "provider", "message": format!("refused: {}", one.text) });
            json!({ "match": format!("^fail {place}$"), "error": error })
        })
        .collect();
    Home::new(&config_with(&[script("main", &json!(rules))], json!({})))
}

fn text_block(text: String) -> types::Block {
    types::Block {
        content: Some(Content::Text(types::TextBlock { text })),
    }
}

fn message(name: &str, role: types::Role, blocks: Vec<types::Block>) -> types::NewMessage {
    types::NewMessage {
        key: name.to_owned(),
        role: role.into(),
        blocks,
        ..Default::default()
    }
}

/// A call of a tool with the text among its arguments, at some depth.
fn tool_call(planted: &Planted) -> types::Block {
    let string = |text: &str| Field {
        kind: Some(Kind::StringValue(text.to_owned())),
    };
    let inner = Struct {
        fields: [("password".to_owned(), string(&planted.secret))].into(),
    };
    let inner = Field {
        kind: Some(Kind::StructValue(inner)),
    };
    let fields = [
        ("command".to_owned(), string(&planted.text)),
        ("options".to_owned(), inner),
    ];
    types::Block {
        content: Some(Content::ToolCall(types::ToolCallBlock {
            tool_call_id: "c1".to_owned(),
            name: "exec".to_owned(),
            arguments: Some(Struct {
                fields: fields.into(),
            }),
        })),
    }
}

/// The secret as a title, in a tool's result, in thinking and arguments, and at last as a preview.
fn messages(planted: &Planted) -> Vec<types::NewMessage> {
    let said = |before: &str| text_block(format!("{before} {WORD} {}", planted.text));
    let thinking = types::Block {
        content: Some(Content::Thinking(types::ThinkingBlock {
            thinking: planted.text.clone(),
        })),
    };
    let result = types::NewMessage {
        tool_call_id: Some("c1".to_owned()),
        tool_name: Some("exec".to_owned()),
        ..message(
            "c",
            types::Role::ToolResult,
            vec![text_block(planted.text.clone())],
        )
    };
    vec![
        message(
            "a",
            types::Role::User,
            vec![text_block(planted.text.clone())],
        ),
        message(
            "b",
            types::Role::Assistant,
            vec![thinking, tool_call(planted)],
        ),
        result,
        message("d", types::Role::User, vec![said("a person")]),
        message("e", types::Role::Assistant, vec![said("an agent")]),
    ]
}

fn plant(grpc: &Grpc, client: &Client, place: usize, planted: &Planted) -> anyhow::Result<()> {
    client.json(&["sessions", "create", &key(place)])?;
    let asked = transcript::AppendMessagesRequest {
        target: Some(session(&key(place))),
        session_id: None,
        messages: messages(planted),
    };
    let operator = Caller::operator();
    let _: transcript::AppendMessagesResponse =
        grpc.call(TRANSCRIPT, "AppendMessages", asked, &operator)?;
    Ok(())
}

/// Fails with each secret that `told` holds.
fn refuse_secrets(planted: &[Planted], told: &str, what: &str) -> anyhow::Result<()> {
    let told = told.replace("\\\"", "\"");
    let leaked: Vec<&Planted> = planted
        .iter()
        .filter(|one| told.contains(&one.secret) || told.contains(&one.core()))
        .collect();
    ensure!(leaked.is_empty(), "{what} tells {leaked:#?}");
    Ok(())
}

#[test]
fn no_answer_tells_a_secret_from_any_place() -> anyhow::Result<()> {
    let planted = all();
    let home = home(&planted)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let (client, grpc) = (&deployment.client, Grpc::to(&deployment)?);
    for (place, one) in planted.iter().enumerate() {
        plant(&grpc, client, place, one)?;
    }
    for (place, one) in planted.iter().enumerate() {
        let one = std::slice::from_ref(one);
        histories(client, place, one).with_context(|| format!("{:?}", one.first()))?;
        searches(client, place, one).with_context(|| format!("{:?}", one.first()))?;
    }
    lists(client, &planted)?;
    deployment.stop()
}

/// A history with tools and one without.
fn histories(client: &Client, place: usize, planted: &[Planted]) -> anyhow::Result<()> {
    for tools in [false, true] {
        let asked = json!({ "sessionKey": key(place), "includeTools": tools });
        let told = client.tool("sessions_history", &asked, None)?;
        ensure!(told.status == 0, "{}", told.text);
        let shown = list(&told.json, "/messages")?.len();
        assert_eq!(shown, if tools { 5 } else { 3 }, "{}", told.text);
        assert_eq!(at(&told.json, "/contentRedacted")?, true, "{}", told.text);
        refuse_secrets(planted, &told.text, "a history")?;
    }
    let exported = client.run(&["sessions", "export", &key(place)])?;
    ensure!(exported.status == 0, "{}", exported.text);
    ensure!(exported.text.contains(WORD), "{}", exported.text);
    refuse_secrets(planted, &exported.text, "an export")
}

/// The words around a hit, and the secret as what is looked for.
fn searches(client: &Client, place: usize, planted: &[Planted]) -> anyhow::Result<()> {
    let asked = json!({ "query": WORD, "sessionKey": key(place) });
    let told = client.tool("sessions_search", &asked, None)?;
    ensure!(told.status == 0, "{}", told.text);
    assert_eq!(at(&told.json, "/count")?, 2, "{}", told.text);
    refuse_secrets(planted, &told.text, "a search")?;
    for one in planted {
        let asked = json!({ "query": one.core(), "sessionKey": key(place) });
        let told = client.tool("sessions_search", &asked, None)?;
        ensure!(told.status == 0, "{}", told.text);
        assert_eq!(
            at(&told.json, "/count")?,
            0,
            "{}: {}",
            one.core(),
            told.text
        );
    }
    Ok(())
}

/// Titles, previews and the newest messages of every row.
fn lists(client: &Client, planted: &[Planted]) -> anyhow::Result<()> {
    let mut rows = 0;
    let mut token: Option<String> = None;
    loop {
        let mut asked = json!({
            "limit": PAGE, "messageLimit": 20, "includeDerivedTitles": true, "includeLastMessage": true,
        });
        if let (Some(token), Some(fields)) = (&token, asked.as_object_mut()) {
            fields.insert("pageToken".to_owned(), json!(token));
        }
        let told = client.tool("sessions_list", &asked, None)?;
        ensure!(told.status == 0, "{}", told.text);
        refuse_secrets(planted, &told.text, "a list")?;
        for row in list(&told.json, "/sessions")? {
            ensure!(text(row, "/lastMessagePreview")?.contains(WORD), "{row:#}");
            rows += 1;
        }
        token = told
            .json
            .get("nextPageToken")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if token.is_none() {
            break;
        }
    }
    assert_eq!(rows, planted.len());
    Ok(())
}

/// What a run failed with is told by the run, by whoever sent the message, and by the flow.
#[test]
fn no_error_tells_a_secret() -> anyhow::Result<()> {
    let planted = all();
    let home = home(&planted)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    for (place, one) in planted.iter().enumerate() {
        let one = std::slice::from_ref(one);
        let asked = json!({
            "sessionKey": "agent:main:main", "message": format!("fail {place}"), "announce": "none",
        });
        let sent = client.tool("sessions_send", &asked, None)?;
        assert_eq!(at(&sent.json, "/status")?, "error", "{}", sent.text);
        ensure!(
            text(&sent.json, "/error")?.contains("refused"),
            "{}",
            sent.text
        );
        refuse_secrets(one, &sent.text, "a send")?;
        let run = client.run(&["runs", "get", &text(&sent.json, "/runId")?])?;
        refuse_secrets(one, &run.text, "a run")?;
    }
    for words in [["runs", "list"], ["flows", "list"], ["sessions", "list"]] {
        let told = client.run(&words)?;
        ensure!(told.status == 0, "{}", told.text);
        refuse_secrets(&planted, &told.text, &words.join(" "))?;
    }
    let logged = std::fs::read_to_string(home.log("confab"))?;
    refuse_secrets(&planted, &logged, "the log")?;
    deployment.stop()
}
