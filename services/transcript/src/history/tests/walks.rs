//! Walks through transcripts of every shape, while they grow.

use confab_model::message::{NewMessage, Role};
use confab_proto::transcript::v1::GetHistoryRequest;
use confab_rpc::wire::enums::Numbered as _;
use proptest::prelude::*;

use crate::shown::is_shown;
use crate::store::View;
use crate::testing::{
    DESK, House, call, marker, of, result, said, seqs, text, thinking, with_blocks,
};

/// The sorts of messages that a view can treat differently.
#[derive(Clone, Copy, Debug)]
enum Sort {
    User,
    Reply,
    Call,
    CallWithText,
    Result,
    SkipWord,
    Thinking,
    /// About a sixth of what a page holds.
    Long,
    /// Of the last so many messages, or of none.
    Compaction(Option<u64>),
}

fn sort() -> impl Strategy<Value = Sort> {
    prop_oneof![
        4 => Just(Sort::User),
        4 => Just(Sort::Reply),
        1 => Just(Sort::Call),
        1 => Just(Sort::CallWithText),
        2 => Just(Sort::Result),
        1 => Just(Sort::SkipWord),
        1 => Just(Sort::Thinking),
        2 => Just(Sort::Long),
        1 => prop::option::of(0_u64..9).prop_map(Sort::Compaction),
    ]
}

/// A transcript as a model: the n-th message has the sequence n.
#[derive(Debug, Default)]
struct Model(Vec<NewMessage>);

impl Model {
    /// The next messages, of these sorts.
    fn grow(&mut self, sorts: &[Sort]) -> Vec<NewMessage> {
        let grown = sorts.iter().map(|sort| {
            let seq = self.0.len() + 1;
            let message = message(*sort, u64::try_from(seq).unwrap());
            self.0.push(message.clone());
            message
        });
        grown.collect()
    }

    /// What a walk that was begun now has to show.
    fn shown(&self, request: &GetHistoryRequest) -> Vec<u64> {
        let view = View::with_tools(request.include_tools);
        let first = if request.active_view {
            self.first_kept()
        } else {
            1
        };
        let passes = |message: &NewMessage| {
            request.roles.is_empty() || request.roles.contains(&message.role.number())
        };
        (1_u64..)
            .zip(&self.0)
            .filter(|(seq, message)| *seq >= first && is_shown(message, view) && passes(message))
            .map(|(seq, _)| seq)
            .collect()
    }

    fn first_kept(&self) -> u64 {
        let kept = (1_u64..).zip(&self.0).filter_map(|(seq, message)| {
            let compaction = message.compaction.as_ref()?;
            Some(compaction.first_kept_seq.unwrap_or(seq + 1))
        });
        kept.last().unwrap_or(1)
    }
}

fn message(sort: Sort, seq: u64) -> NewMessage {
    let key = format!("k{seq}");
    match sort {
        Sort::User => said(&key, Role::User, "hi"),
        Sort::Reply => said(&key, Role::Assistant, "yes"),
        Sort::Call => with_blocks(&key, Role::Assistant, vec![call("read")]),
        Sort::CallWithText => with_blocks(&key, Role::Assistant, vec![text("look"), call("read")]),
        Sort::Result => result(&key, "r"),
        Sort::SkipWord => said(&key, Role::Assistant, "NO_REPLY"),
        Sort::Thinking => with_blocks(&key, Role::Assistant, vec![thinking("hm")]),
        Sort::Long => said(&key, Role::Assistant, &"€".repeat(4_000)),
        Sort::Compaction(kept) => marker(&key, kept.map(|kept| seq.saturating_sub(kept).max(1))),
    }
}

/// The growth of a transcript: what it begins with, and what comes before each further page.
fn growth() -> impl Strategy<Value = (Vec<Sort>, Vec<Vec<Sort>>)> {
    let begin = prop::collection::vec(sort(), 0..60);
    let between = prop::collection::vec(prop::collection::vec(sort(), 0..4), 1..6);
    (begin, between)
}

fn request() -> impl Strategy<Value = GetHistoryRequest> {
    (any::<bool>(), any::<bool>(), 1_i32..20).prop_map(|(include_tools, active_view, limit)| {
        GetHistoryRequest {
            include_tools,
            active_view,
            limit: Some(limit),
            ..of(DESK)
        }
    })
}

async fn walk_by_offset(
    begin: &[Sort],
    between: &[Vec<Sort>],
    request: &GetHistoryRequest,
) -> (Vec<u64>, Vec<u64>) {
    let (house, mut model) = (House::with(&[DESK]).await, Model::default());
    put(&house, model.grow(begin)).await;
    let expected = model.shown(request);
    let (mut seen, mut offset, mut snapshot) = (Vec::new(), 0, None);
    for more in between.iter().cycle() {
        let request = GetHistoryRequest {
            offset: Some(offset),
            snapshot,
            ..request.clone()
        };
        let page = house.history(request).await.unwrap();
        seen.splice(0..0, seqs(&page));
        let paging = page.paging.unwrap();
        assert_eq!(
            paging.total_messages,
            u64::try_from(expected.len()).unwrap()
        );
        let Some(next) = paging.next_offset else {
            break;
        };
        offset = i64::try_from(next).unwrap();
        snapshot = Some(i64::try_from(paging.snapshot).unwrap());
        put(&house, model.grow(more)).await;
    }
    (seen, expected)
}

async fn walk_by_snapshot(
    begin: &[Sort],
    between: &[Vec<Sort>],
    request: &GetHistoryRequest,
) -> (Vec<u64>, Vec<u64>) {
    let (house, mut model) = (House::with(&[DESK]).await, Model::default());
    put(&house, model.grow(begin)).await;
    let expected = model.shown(request);
    let (mut seen, mut snapshot) = (Vec::new(), None);
    for more in between.iter().cycle() {
        let request = GetHistoryRequest {
            snapshot,
            ..request.clone()
        };
        let page = house.history(request).await.unwrap();
        seen.splice(0..0, seqs(&page));
        let Some(next) = page.next_snapshot else {
            break;
        };
        snapshot = Some(i64::try_from(next).unwrap());
        put(&house, model.grow(more)).await;
    }
    (seen, expected)
}

async fn put(house: &House, messages: Vec<NewMessage>) {
    if !messages.is_empty() {
        house.append(DESK, &messages).await.unwrap();
    }
}

fn without_compactions(between: Vec<Vec<Sort>>) -> Vec<Vec<Sort>> {
    let silent = |sort| match sort {
        Sort::Compaction(_) => Sort::Thinking,
        Sort::User
        | Sort::Reply
        | Sort::Call
        | Sort::CallWithText
        | Sort::Result
        | Sort::SkipWord
        | Sort::Thinking
        | Sort::Long => sort,
    };
    let silenced = between.into_iter();
    silenced
        .map(|some| some.into_iter().map(silent).collect())
        .collect()
}

fn carry_out<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_walk_by_offset_shows_every_message_exactly_once(
        (begin, between) in growth(),
        request in request(),
    ) {
        let (seen, expected) = carry_out(walk_by_offset(&begin, &between, &request));
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn a_walk_with_a_filter_shows_every_message_that_passes_exactly_once(
        (begin, between) in growth(),
        request in request(),
        role in prop::sample::select(vec![Role::User, Role::Assistant, Role::ToolResult]),
    ) {
        let request = GetHistoryRequest { roles: vec![role.number()], ..request };
        // The active view follows the last compaction: it is another walk after a further one.
        let between = if request.active_view { without_compactions(between) } else { between };
        let (seen, expected) = carry_out(walk_by_snapshot(&begin, &between, &request));
        prop_assert_eq!(seen, expected);
    }
}
