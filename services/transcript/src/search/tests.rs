//! Searching, from what was appended to what is shown of it.

mod index;
mod reach;

use std::collections::BTreeMap;
use std::sync::Arc;

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{NewMessage, Role};
use confab_model::session::Session;
use confab_proto::transcript::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Action, Answer, Authority, Gate, Question, Reach, Scope, Target};

use crate::commands::AppendMessages;
use crate::commands::search::SearchMessages;
use crate::search::SearchPage;
use crate::testing::{
    DESK, House, START, call, marker, of, operator, request, result, said, seqs, session_id, text,
    thinking, with_blocks,
};

const MAIN: &str = "agent:writer:main";
const EDITOR: &str = "agent:editor:main";

/// A registry that knows some sessions, present and past generations of them, and lets its caller
/// see those within reach.
#[derive(Clone, Debug)]
struct Registry {
    /// By key and by sessionId.
    sessions: BTreeMap<String, Session>,
    reach: Reach,
}

impl Registry {
    fn of(keys: &[&str]) -> Self {
        let mut registry = Self {
            sessions: BTreeMap::new(),
            reach: Reach::All,
        };
        for key in keys {
            let session = generation(key, &session_id(key));
            registry.sessions.insert((*key).to_owned(), session.clone());
            let session_id = session.session_id.to_string();
            registry.sessions.insert(session_id, session);
        }
        registry
    }

    /// Knows an older generation too.
    fn with_generation(mut self, key: &str, session_id: &SessionId) -> Self {
        let session = generation(key, session_id);
        self.sessions.insert(session_id.to_string(), session);
        self
    }

    fn within(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    fn without(mut self, key: &str) -> Self {
        self.sessions
            .retain(|_, session| session.key.as_str() != key);
        self
    }

    fn decide(&self, target: &Target) -> Result<Session, RpcError> {
        let agent = target.agent_id.as_deref().unwrap_or_default();
        let main = format!("agent:{agent}:main");
        let given = target.session_key.clone().unwrap_or(main);
        let session = self.sessions.get(&given);
        let key = session.map_or_else(
            || SessionKey::parse(given.as_str()).ok(),
            |session| Some(session.key.clone()),
        );
        if key.is_some_and(|key| !self.reaches(&key)) {
            return Err(RpcError::new(Reason::Visibility, "out of reach"));
        }
        session
            .cloned()
            .ok_or_else(|| RpcError::new(Reason::SessionNotFound, given))
    }

    fn reaches(&self, key: &SessionKey) -> bool {
        match &self.reach {
            Reach::All => true,
            Reach::Among(among) => {
                among.keys.contains(key)
                    || key
                        .agent_id()
                        .is_some_and(|agent| among.agents.contains(&agent))
            },
        }
    }
}

impl Authority for Registry {
    async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        let scoped = matches!(question.about, About::Scope);
        let targets = match question.about {
            About::One(target) => vec![target],
            About::Many(targets) => targets,
            About::Nothing | About::Scope => Vec::new(),
        };
        assert!(matches!(question.action, Action::Search | Action::Append));
        Ok(Answer {
            decisions: targets.iter().map(|target| self.decide(target)).collect(),
            scope: scoped.then(|| Scope {
                reach: self.reach.clone(),
                note: None,
            }),
        })
    }
}

fn generation(key: &str, session_id: &SessionId) -> Session {
    Session::fresh(SessionKey::parse(key).unwrap(), session_id.clone(), START)
}

fn asked(query: &str) -> proto::SearchMessagesRequest {
    proto::SearchMessagesRequest {
        query: query.to_owned(),
        ..Default::default()
    }
}

async fn search(
    house: &House,
    registry: &Registry,
    request: proto::SearchMessagesRequest,
) -> Result<SearchPage, RpcError> {
    let gate = Gate::new(Arc::new(registry.clone()));
    let request = SearchMessages::parse(request)?;
    let call = gate.admit_as(operator(), request).await?;
    house.messages.search(&gate, call).await
}

/// Sessions and sequences, in the order of the page.
async fn found(
    house: &House,
    registry: &Registry,
    request: proto::SearchMessagesRequest,
) -> Vec<(String, u64)> {
    let page = search(house, registry, request).await.unwrap();
    let matches = page.matches.into_iter();
    matches
        .map(|one| (one.session_id.to_string(), one.seq))
        .collect()
}

/// The sequences found in the desk.
async fn at_desk(house: &House, query: &str) -> Vec<u64> {
    let found = found(house, &Registry::of(&[DESK]), asked(query)).await;
    let mut seqs: Vec<u64> = found.into_iter().map(|(_, seq)| seq).collect();
    seqs.sort_unstable();
    seqs
}

fn hits(key: &str, seqs: &[u64]) -> Vec<(String, u64)> {
    let session_id = session_id(key).to_string();
    seqs.iter().map(|seq| (session_id.clone(), *seq)).collect()
}

/// Appends to the session, or the generation, of this name.
async fn say(house: &House, registry: &Registry, name: &str, messages: &[NewMessage]) {
    let caller = operator();
    let request = AppendMessages::parse(request(name, messages), caller.role()).unwrap();
    let gate = Gate::new(registry.clone());
    let call = gate.admit_as(caller, request).await.unwrap();
    house.messages.append(call).await.unwrap();
}

#[tokio::test]
async fn what_was_said_a_moment_ago_is_found_and_opens_in_the_history_d77() {
    let house = House::with(&[DESK]).await;
    let many: Vec<NewMessage> = (1..=30)
        .map(|number| {
            said(
                &number.to_string(),
                Role::User,
                &format!("message {number}"),
            )
        })
        .collect();
    house.append(DESK, &many).await.unwrap();
    house.clock.advance_millis(7);
    let reply = said("reply", Role::Assistant, "the Zürich\nreport");
    house.append(DESK, &[reply]).await.unwrap();
    let registry = Registry::of(&[DESK]);
    let page = search(&house, &registry, asked("ZURICH rep*"))
        .await
        .unwrap();
    let [hit] = page.matches.as_slice() else {
        panic!("{page:?}")
    };
    assert_eq!(hit.session_key.as_str(), DESK);
    assert_eq!(hit.session_id, session_id(DESK));
    assert_eq!((hit.seq, hit.role), (31, Role::Assistant));
    assert_eq!(hit.excerpt, "the Zürich report");
    assert_eq!(hit.at, START.plus_millis(7));
    assert_eq!(page.limit_applied, None);
    let around = proto::GetHistoryRequest {
        anchor_seq: Some(31),
        limit: Some(3),
        ..of(DESK)
    };
    let opened = house.history(around).await.unwrap();
    assert!(seqs(&opened).contains(&31), "{:?}", seqs(&opened));
}

#[tokio::test]
async fn nothing_is_found_that_a_history_does_not_show_d60_d77() {
    let house = House::with(&[DESK]).await;
    let messages = [
        said("1", Role::User, "open"),
        result("2", "needle of a tool"),
        with_blocks(
            "3",
            Role::Assistant,
            vec![thinking("needle"), text("thought over")],
        ),
        with_blocks(
            "4",
            Role::Assistant,
            vec![call("needle"), text("called up")],
        ),
        said("5", Role::Assistant, "<think>needle</think>answered"),
        said("6", Role::Assistant, "NO_REPLY"),
        marker("7", None),
        said("8", Role::User, "the needle itself"),
    ];
    house.append(DESK, &messages).await.unwrap();
    for (query, seqs) in [
        ("needle", vec![8]),
        ("NO_REPLY", vec![]),
        ("summary", vec![]),
        ("thought", vec![3]),
        ("called", vec![4]),
        ("answered", vec![5]),
        ("think", vec![]),
        ("open", vec![1]),
    ] {
        assert_eq!(at_desk(&house, query).await, seqs, "{query}");
    }
}

#[tokio::test]
async fn a_secret_is_not_found_by_any_piece_of_its_inside_and_not_shown_d77() {
    let secret = "ghp_Q7zT1kLmN8vRwXyB2cDfGhJkP3sUaE5iOo9M";
    let house = House::with(&[DESK]).await;
    let message = format!("take {secret} along, and the umbrella");
    house
        .append(DESK, &[said("1", Role::User, &message)])
        .await
        .unwrap();
    let inside = &secret[8..30];
    for query in [secret, &secret[4..], inside, &format!("{}*", &secret[..12])] {
        assert_eq!(at_desk(&house, query).await, Vec::<u64>::new(), "{query}");
    }
    let page = search(&house, &Registry::of(&[DESK]), asked("umbrella")).await;
    let excerpt = &page.unwrap().matches[0].excerpt;
    assert!(
        excerpt.contains("umbrella") && !excerpt.contains(inside),
        "{excerpt}"
    );
}

#[tokio::test]
async fn a_query_is_words_and_never_a_language_d77() {
    let house = House::with(&[DESK]).await;
    let message = "alpha AND beta (gamma) x:y 100% NEAR(a b)";
    house
        .append(DESK, &[said("1", Role::User, message)])
        .await
        .unwrap();
    for (query, found) in [
        ("alpha AND beta", true),
        ("alpha NOT beta", false),
        ("alpha OR delta", false),
        ("\"alpha and\"", true),
        ("\"beta alpha\"", false),
        ("alp*", true),
        ("*pha", false),
        ("gamma) (", true),
        ("x:y", true),
        ("body:alpha", false),
        ("tenant", false),
        ("100%", true),
        ("NEAR(a b)", true),
        ("alpha\" beta", true),
        ("'; DROP TABLE messages; --", false),
    ] {
        assert_eq!(
            at_desk(&house, query).await.len(),
            usize::from(found),
            "{query}"
        );
    }
}

#[tokio::test]
async fn the_newest_hits_come_first_up_to_the_limit_d54() {
    let house = House::with(&[DESK]).await;
    let longer = |number: usize| format!("needle{}", " hay".repeat(number % 7));
    let many: Vec<NewMessage> = (0..120)
        .map(|number| said(&number.to_string(), Role::User, &longer(number)))
        .collect();
    house.append(DESK, &many).await.unwrap();
    let registry = Registry::of(&[DESK]);
    for (limit, count, applied) in [
        (None, 20, None),
        (Some(3), 3, None),
        (Some(100), 100, None),
        (Some(5_000), 100, Some(100)),
    ] {
        let request = proto::SearchMessagesRequest {
            limit,
            ..asked("needle")
        };
        let page = search(&house, &registry, request).await.unwrap();
        assert_eq!((page.matches.len(), page.limit_applied), (count, applied));
        assert_eq!((page.matches[0].seq, page.matches[1].seq), (120, 119));
    }
}

#[tokio::test]
async fn a_message_that_cannot_be_read_spoils_no_search() {
    let house = House::with(&[DESK]).await;
    let messages = ["1", "2", "3"].map(|key| said(key, Role::User, "needle"));
    house.append(DESK, &messages).await.unwrap();
    // One is damaged before it is in the index, one afterwards.
    house.damage(DESK, 1, b"\xff").await;
    assert_eq!(at_desk(&house, "needle").await, [2, 3]);
    house.damage(DESK, 2, b"\xff").await;
    assert_eq!(at_desk(&house, "needle").await, [3]);
}

#[tokio::test]
async fn tenants_find_their_own_messages_only() {
    let house = House::with(&[DESK]).await;
    house
        .append(DESK, &[said("1", Role::User, "needle")])
        .await
        .unwrap();
    let gate = Gate::new(Registry::of(&[DESK]));
    let stranger = Caller::operator(TenantId::parse("other").unwrap());
    for (caller, count) in [(operator(), 1), (stranger, 0)] {
        let request = SearchMessages::parse(asked("needle")).unwrap();
        let call = gate.admit_as(caller, request).await.unwrap();
        let page = house.messages.search(&gate, call).await.unwrap();
        assert_eq!(page.matches.len(), count);
    }
}
