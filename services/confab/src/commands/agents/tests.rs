use serde_json::json;

use super::*;
use crate::render::table::COLUMNS;
use crate::render::text;

fn agent(id: &str, spawns: Option<(bool, &[&str])>) -> Agent {
    Agent {
        agent_id: id.to_owned(),
        configured: true,
        driver: "script".to_owned(),
        may_spawn: spawns.map(|(any, ids)| Spawnable {
            any,
            agent_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        }),
        ..Agent::default()
    }
}

fn list(agents: Vec<Agent>) -> ListAgentsResponse {
    ListAgentsResponse {
        requester: None,
        allow_any: true,
        agents,
    }
}

fn three() -> ListAgentsResponse {
    list(vec![
        agent("editor", Some((false, &[]))),
        agent("ops", Some((true, &["ops", "editor", "writer"]))),
        agent("writer", Some((false, &["writer", "editor"]))),
    ])
}

#[test]
fn whom_each_agent_may_spawn_stands_beside_it_a1() {
    let told = tell(&three(), Paint::new(false));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].ends_with("MAY SPAWN"), "{told}");
    assert!(lines[1].ends_with("nobody"), "{told}");
    assert!(lines[2].ends_with("any agent"), "{told}");
    assert!(lines[3].ends_with("writer, editor"), "{told}");
}

#[test]
fn for_programs_it_is_the_tools_form_with_whom_each_may_spawn() {
    let row = |id, spawns: Value| json!({ "id": id, "configured": true, "driver": "script", "spawns": spawns });
    assert_eq!(
        page(&three()),
        json!({ "allowAny": true, "agents": [
            row("editor", json!([])),
            row("ops", json!(["ops", "editor", "writer"])),
            row("writer", json!(["writer", "editor"])),
        ] })
    );
}

#[test]
fn what_is_not_told_is_left_out() {
    let list = list(vec![agent("a", None), agent("b", None)]);
    let told = tell(&list, Paint::new(false));
    assert!(!told.contains("MAY SPAWN"), "{told}");
    assert_eq!(page(&list)["agents"][0].get("spawns"), None);
}

#[test]
fn agents_fit_whatever_they_are_called() {
    let hostile = "界\u{1b}[2J".repeat(60);
    let agent = Agent {
        name: Some(hostile.clone()),
        model: Some(hostile.clone()),
        driver: hostile.clone(),
        ..agent(&hostile, Some((false, &[&hostile, &hostile])))
    };
    let told = tell(&list(vec![agent]), Paint::new(false));
    assert!(!told.contains('\u{1b}'), "{told:?}");
    for line in told.lines() {
        assert!(text::width(line) <= COLUMNS, "{line}");
    }
}
