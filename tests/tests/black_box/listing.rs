//! `sessions_list` and `sessions list`: filters, limits, rows.

use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{at, list, number, only, text};
use serde_json::{Value, json};

fn start() -> anyhow::Result<(Home, Deployment)> {
    let home = Home::new(&config(&["main", "ops"].map(|id| script(id, &json!([])))))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    Ok((home, deployment))
}

fn sessions(client: &Client, arguments: &Value) -> anyhow::Result<Value> {
    let answer = client.tool("sessions_list", arguments, None)?;
    assert_eq!(answer.status, 0, "{arguments}: {}", answer.text);
    Ok(answer.json)
}

fn keys(result: &Value) -> anyhow::Result<Vec<String>> {
    list(result, "/sessions")?
        .iter()
        .map(|row| text(row, "/key"))
        .collect()
}

/// B128: what does not fit the filter takes no place on the page.
#[test]
fn a_page_is_cut_after_the_filter() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let old = ["agent:main:main", "agent:ops:main"];
    let new = [
        "agent:main:cron:a",
        "agent:main:cron:b",
        "agent:main:cron:c",
    ];
    for key in old.iter().chain(&new) {
        client.json(&["sessions", "create", key])?;
    }
    let mains = sessions(client, &json!({ "kinds": ["main"], "limit": 2 }))?;
    assert_eq!(keys(&mains)?, ["agent:ops:main", "agent:main:main"]);
    assert_eq!(
        only(&mains, &["count", "hasMore"]),
        json!({ "count": 2, "hasMore": false })
    );

    let first = sessions(client, &json!({ "kinds": ["cron"], "limit": 2 }))?;
    assert_eq!(keys(&first)?, ["agent:main:cron:c", "agent:main:cron:b"]);
    assert_eq!(at(&first, "/hasMore")?, true);
    let token = at(&first, "/nextPageToken")?;
    let rest = sessions(
        client,
        &json!({ "kinds": ["cron"], "limit": 2, "pageToken": token }),
    )?;
    assert_eq!(keys(&rest)?, ["agent:main:cron:a"]);
    assert_eq!(at(&rest, "/hasMore")?, false);
    assert!(rest.get("nextPageToken").is_none(), "{rest:#}");
    deployment.stop()
}

#[test]
fn a_limit_above_the_most_is_lowered_and_told() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", "agent:main:main"])?;
    let lowered = sessions(client, &json!({ "limit": 5000, "messageLimit": 500 }))?;
    assert_eq!(number(&lowered, "/limitApplied")?, 200);
    assert_eq!(number(&lowered, "/messageLimitApplied")?, 20);
    let kept = sessions(client, &json!({ "limit": 200 }))?;
    assert!(kept.get("limitApplied").is_none(), "{kept:#}");
    deployment.stop()
}

#[test]
fn a_row_tells_what_the_session_is_and_what_it_last_did() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let key = "agent:ops:discord:group:7";
    let route = ["--channel", "discord", "--to", "group:7"];
    client.json(
        &[
            &["sessions", "create", key, "--label", "raid"][..],
            &route[..],
        ]
        .concat(),
    )?;
    client.json(&["chat", key, "hello"])?;
    let arguments = json!({ "label": "raid", "messageLimit": 1, "includeLastMessage": true });
    let found = sessions(client, &arguments)?;
    let row = at(&found, "/sessions/0")?;
    let fields = [
        "key",
        "agentId",
        "kind",
        "channel",
        "label",
        "deliveryContext",
        "archived",
    ];
    let expected = json!({
        "key": key, "agentId": "ops", "kind": "group", "channel": "discord", "label": "raid",
        "deliveryContext": { "channel": "discord", "to": "group:7" }, "archived": false,
    });
    assert_eq!(only(row, &fields), expected, "{row:#}");
    assert_eq!(text(row, "/lastMessagePreview")?, "echo: hello");
    assert_eq!(list(row, "/messages")?.len(), 1, "{row:#}");
    assert!(number(row, "/updatedAt")? > 1_600_000_000_000, "{row:#}");
    let nobody = sessions(client, &json!({ "label": "rai" }))?;
    assert_eq!(number(&nobody, "/count")?, 0, "a label is compared whole");
    for (filter, count) in [
        (json!({ "search": "RAID" }), 1),
        (json!({ "search": "nothing like it" }), 0),
        (json!({ "agentId": "ops" }), 1),
        (json!({ "agentId": "main" }), 0),
        (json!({ "activeMinutes": 5 }), 1),
        (json!({ "archived": true }), 0),
    ] {
        assert_eq!(
            number(&sessions(client, &filter)?, "/count")?,
            count,
            "{filter}"
        );
    }
    deployment.stop()
}

/// The tools a session may use come with schemas that say what their fields are.
#[test]
fn the_tools_of_a_session_have_schemas() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", "agent:main:main", "hello"])?;
    let found = client.json(&["tools", "--as", "agent:main:main"])?;
    let mut names = Vec::new();
    for tool in list(&found, "/tools")? {
        names.push(text(tool, "/name")?);
        let schema = tool.as_object().and_then(|tool| {
            tool.values()
                .find(|value| value.pointer("/properties").is_some())
        });
        assert!(schema.is_some(), "{tool:#}");
    }
    names.sort();
    for name in ["sessions_history", "sessions_list", "sessions_send"] {
        assert!(
            names.iter().any(|found| found == name),
            "{names:?} lacks {name}"
        );
    }
    deployment.stop()
}

#[test]
fn history_shows_the_newest_messages_within_its_limit() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    for word in ["one", "two", "three"] {
        client.json(&["chat", "agent:main:main", word])?;
    }
    let arguments = json!({ "sessionKey": "main", "limit": 3 });
    let page = client.tool("sessions_history", &arguments, Some("agent:main:main"))?;
    assert_eq!(page.status, 0, "{}", page.text);
    let messages = list(&page.json, "/messages")?;
    let said: Vec<String> = messages
        .iter()
        .map(confab_tests::json::message_text)
        .collect();
    assert_eq!(said, ["echo: two", "three", "echo: three"]);
    assert_eq!(text(&page.json, "/sessionKey")?, "main");
    let id = text(
        &client.json(&["sessions", "get", "agent:main:main"])?,
        "/sessionId",
    )?;
    assert_eq!(text(&page.json, "/sessionId")?, id);
    deployment.stop()
}
