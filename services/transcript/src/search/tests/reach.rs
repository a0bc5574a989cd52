//! Whose messages are found.

use confab_model::id::AgentId;
use confab_rpc::gate::Among;

use super::*;

const CHILD: &str = "agent:writer:subagent:1";

fn among(agents: &[&str], keys: &[&str]) -> Reach {
    Reach::Among(Among {
        agents: agents
            .iter()
            .map(|agent| AgentId::normalise(agent))
            .collect(),
        keys: keys
            .iter()
            .map(|key| SessionKey::parse(key).unwrap())
            .collect(),
        family: None,
    })
}

/// Sessions in which the same word was said, each once.
async fn said_in(house: &House, keys: &[&str]) -> Registry {
    let registry = Registry::of(keys);
    for key in keys {
        say(house, &registry, key, &[said("1", Role::User, "needle")]).await;
    }
    registry
}

fn sorted(mut found: Vec<(String, u64)>) -> Vec<(String, u64)> {
    found.sort();
    found
}

fn once_in(keys: &[&str]) -> Vec<(String, u64)> {
    sorted(keys.iter().flat_map(|key| hits(key, &[1])).collect())
}

/// Forgets whose transcript it is, as of one that was written before keys were stored.
async fn forget_keys(house: &House) {
    let forgotten = house.database().write(|connection| {
        Box::pin(async move {
            sqlx::query("UPDATE heads SET session_key = NULL")
                .execute(connection)
                .await?;
            Ok::<_, confab_store::StoreError>(())
        })
    });
    forgotten.await.unwrap();
}

/// What each mode of visibility comes to, whether the database knows the keys or the gate has to tell
/// all of them.
#[tokio::test]
async fn a_search_finds_what_its_caller_may_see_in_every_mode_d9_d11_d77() {
    let house = House::with(&[]).await;
    let everything = [MAIN, DESK, CHILD, EDITOR, "global"];
    let registry = said_in(&house, &everything).await;
    let modes = [
        ("self", among(&[], &[MAIN]), vec![MAIN]),
        ("tree", among(&[], &[MAIN, CHILD]), vec![MAIN, CHILD]),
        ("agent", among(&["writer"], &[]), vec![MAIN, DESK, CHILD]),
        (
            "agents",
            among(&["writer"], &[EDITOR]),
            vec![MAIN, DESK, CHILD, EDITOR],
        ),
        ("all", Reach::All, everything.to_vec()),
        ("nothing", among(&[], &[]), vec![]),
    ];
    for keys_are_known in [true, false] {
        if !keys_are_known {
            forget_keys(&house).await;
        }
        for (mode, reach, keys) in &modes {
            let registry = registry.clone().within(reach.clone());
            let found = found(&house, &registry, asked("needle")).await;
            assert_eq!(sorted(found), once_in(keys), "{mode} {keys_are_known}");
        }
    }
}

/// The scope was given before a session was deleted, moved out of reach, or began a new generation.
#[tokio::test]
async fn a_hit_is_judged_again_before_it_is_shown_d77() {
    let house = House::with(&[]).await;
    let registry = said_in(&house, &[MAIN, EDITOR]).await;
    let left = registry.clone().without(EDITOR);
    assert_eq!(
        found(&house, &left, asked("needle")).await,
        hits(MAIN, &[1])
    );
    // The sessionId names a session of its present generation only.
    let mut confused = registry.clone();
    let other = generation(EDITOR, &session_id("another"));
    confused
        .sessions
        .insert(session_id(EDITOR).to_string(), other);
    assert_eq!(
        found(&house, &confused, asked("needle")).await,
        hits(MAIN, &[1])
    );
}

#[tokio::test]
async fn one_session_is_searched_in_every_generation_and_a_session_id_in_its_own_d26() {
    let house = House::with(&[]).await;
    let older = session_id("older");
    let registry = Registry::of(&[MAIN, DESK]).with_generation(DESK, &older);
    for name in [MAIN, DESK, older.as_str()] {
        let name_is_key = format!("key {name}");
        say(
            &house,
            &registry,
            name,
            &[said(&name_is_key, Role::User, "needle")],
        )
        .await;
    }
    let within = |name: &str| proto::SearchMessagesRequest {
        target: Some(Target::reference(name).into()),
        ..asked("needle")
    };
    let of_older = vec![(older.to_string(), 1)];
    let of_both = sorted([hits(DESK, &[1]), of_older.clone()].concat());
    let of_desk = session_id(DESK).to_string();
    for keys_are_known in [true, false] {
        if !keys_are_known {
            forget_keys(&house).await;
        }
        for (name, expected) in [
            (DESK, of_both.clone()),
            (older.as_str(), of_older.clone()),
            (of_desk.as_str(), hits(DESK, &[1])),
            (MAIN, hits(MAIN, &[1])),
        ] {
            let got = found(&house, &registry, within(name)).await;
            assert_eq!(sorted(got), expected, "{name} {keys_are_known}");
        }
    }
    // A session out of reach, and one that does not exist, are refused as a history of it would be.
    let narrow = registry.within(among(&[], &[MAIN]));
    for (name, reason) in [
        (DESK, Reason::Visibility),
        (older.as_str(), Reason::Visibility),
        ("nobody", Reason::SessionNotFound),
    ] {
        let refused = search(&house, &narrow, within(name)).await.unwrap_err();
        assert_eq!(refused.reason, reason, "{name}");
    }
}

#[tokio::test]
async fn an_agent_narrows_and_one_out_of_reach_is_refused_d12() {
    let house = House::with(&[]).await;
    let registry = said_in(&house, &[MAIN, DESK, EDITOR, "global"]).await;
    let of_agent = |agent: &str| proto::SearchMessagesRequest {
        agent_id: Some(agent.to_owned()),
        ..asked("needle")
    };
    for keys_are_known in [true, false] {
        if !keys_are_known {
            forget_keys(&house).await;
        }
        for (reach, agent, keys) in [
            (Reach::All, "Writer", vec![MAIN, DESK]),
            (Reach::All, "editor", vec![EDITOR]),
            (Reach::All, "stranger", vec![]),
            (among(&["writer"], &[]), "writer", vec![MAIN, DESK]),
            (among(&[], &[DESK, EDITOR]), "writer", vec![DESK]),
        ] {
            let registry = registry.clone().within(reach);
            let found = found(&house, &registry, of_agent(agent)).await;
            assert_eq!(sorted(found), once_in(&keys), "{agent} {keys_are_known}");
        }
    }
    let narrow = registry.within(among(&["writer"], &[]));
    let refused = search(&house, &narrow, of_agent("editor"))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Visibility);
}

#[tokio::test]
async fn a_session_and_an_agent_must_both_be_true_d52() {
    let house = House::with(&[]).await;
    let registry = said_in(&house, &[MAIN, EDITOR]).await;
    for (agent, expected) in [("writer", hits(MAIN, &[1])), ("editor", vec![])] {
        let request = proto::SearchMessagesRequest {
            target: Some(Target::reference(MAIN).into()),
            agent_id: Some(agent.to_owned()),
            ..asked("needle")
        };
        assert_eq!(found(&house, &registry, request).await, expected, "{agent}");
    }
}

/// What the gate refuses takes no place on the page, however much of it there is.
#[tokio::test]
async fn better_and_newer_hits_out_of_reach_hide_nothing() {
    let house = House::with(&[]).await;
    let registry = Registry::of(&[MAIN, EDITOR]);
    let mine = ["1", "2"].map(|key| said(key, Role::User, "needle in a haystack"));
    say(&house, &registry, MAIN, &mine).await;
    let theirs: Vec<NewMessage> = (0..450)
        .map(|number| said(&number.to_string(), Role::User, "needle"))
        .collect();
    say(&house, &registry, EDITOR, &theirs).await;
    let narrow = registry.within(among(&[], &[MAIN]));
    for keys_are_known in [true, false] {
        if !keys_are_known {
            forget_keys(&house).await;
        }
        let found = found(&house, &narrow, asked("needle")).await;
        assert_eq!(found, hits(MAIN, &[2, 1]), "{keys_are_known}");
    }
}
