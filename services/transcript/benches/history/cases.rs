//! The calls that are measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use confab_bench::raw::RawCall;
use confab_proto::transcript::v1::{
    AppendMessagesResponse, GetHistoryRequest, GetHistoryResponse, SearchMessagesRequest,
    SearchMessagesResponse, TailSessionsRequest, TailSessionsResponse,
};
use prost::Message as _;
use prost::bytes::Bytes;

use crate::filling::{append, target};
use crate::speech;
use crate::world::{LARGE, SMALL, Size, World, tail};

const GET_HISTORY: &str = "/confab.transcript.v1.TranscriptService/GetHistory";
const TAIL_SESSIONS: &str = "/confab.transcript.v1.TranscriptService/TailSessions";
const SEARCH_MESSAGES: &str = "/confab.transcript.v1.TranscriptService/SearchMessages";
const APPEND_MESSAGES: &str = "/confab.transcript.v1.TranscriptService/AppendMessages";

/// Messages of a page.
const PAGE: i32 = 50;

/// Messages of the appends, from the shortest to the longest.
const APPENDS: [u32; 2] = [1, 100];

/// Which of the cases.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// Pages of the transcript that others are compared with.
    Small,
    /// Pages of the deep transcript.
    Large,
    /// What only reads and is no page.
    Reads,
    /// What stores.
    Appends,
}

/// Where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    First,
    Middle,
    Deepest,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Page {
        session: &'static str,
        tools: bool,
        depth: Depth,
    },
    Tails {
        sessions: u32,
    },
    Search {
        words: Words,
    },
    Append {
        messages: u32,
    },
}

/// What is searched for, in all transcripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    Frequent,
    Rare { messages: u32 },
    Absent,
}

/// A call that somebody makes.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What people call it.
    pub(crate) name: String,
    ask: Ask,
}

/// The cases of a part, in the order of the table.
pub(crate) fn of(part: Part, size: Size) -> Vec<Case> {
    match part {
        Part::Small => pages(SMALL, size.small, &[Depth::First, Depth::Deepest]),
        Part::Large => pages(
            LARGE,
            size.large,
            &[Depth::First, Depth::Middle, Depth::Deepest],
        ),
        Part::Reads => reads(size),
        Part::Appends => APPENDS.map(appending).to_vec(),
    }
}

fn reads(size: Size) -> Vec<Case> {
    let Size { tails, large, .. } = size;
    let case = |name: &str, ask| Case {
        name: name.to_owned(),
        ask,
    };
    let search = |name, words| case(name, Ask::Search { words });
    vec![
        case(
            &format!("ends of {tails} transcripts"),
            Ask::Tails { sessions: tails },
        ),
        search("search, many hits", Words::Frequent),
        search("search, one hit", Words::Rare { messages: large }),
        search("search, no hit", Words::Absent),
    ]
}

fn appending(messages: u32) -> Case {
    Case {
        name: format!("append of {messages}"),
        ask: Ask::Append { messages },
    }
}

fn pages(session: &'static str, messages: u32, depths: &[Depth]) -> Vec<Case> {
    let views = [(false, "plain"), (true, "tools")];
    let both = views.iter().flat_map(|(tools, view)| {
        depths.iter().map(move |depth| Case {
            name: format!("{messages} {view} {}", depth.as_str()),
            ask: Ask::Page {
                session,
                tools: *tools,
                depth: *depth,
            },
        })
    });
    both.collect()
}

impl Depth {
    const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Middle => "middle",
            Self::Deepest => "deepest",
        }
    }

    /// Messages to skip out of `total`.
    fn offset(self, total: i64) -> i64 {
        match self {
            Self::First => 0,
            Self::Middle => total / 2,
            Self::Deepest => total.saturating_sub(i64::from(PAGE)),
        }
    }
}

impl Case {
    /// Whether the other case is told as a multiple of this one: the first page, seen in the same way.
    pub(crate) fn is_base_of(&self, other: &Self) -> bool {
        match (self.ask, other.ask) {
            (
                Ask::Page { tools, depth, .. },
                Ask::Page {
                    tools: other_tools, ..
                },
            ) => depth == Depth::First && tools == other_tools,
            (Ask::Page { .. } | Ask::Tails { .. } | Ask::Search { .. } | Ask::Append { .. }, _) => {
                false
            },
        }
    }

    /// The call with everything it has to know.
    pub(crate) async fn prepare(&self, world: &World) -> Prepared {
        match self.ask {
            Ask::Page {
                session,
                tools,
                depth,
            } => {
                let first = page(session, tools, 0);
                let call = RawCall::same(world.client(), GET_HISTORY, &first);
                let answer = GetHistoryResponse::decode(call.make().await).unwrap();
                let total = answer.paging.unwrap().total_messages;
                Prepared::Page(page(session, tools, depth.offset(total)))
            },
            Ask::Tails { sessions } => Prepared::Tails(TailSessionsRequest {
                session_keys: (0..sessions).map(tail).collect(),
                limit: 20,
                include_first_user_message: true,
            }),
            Ask::Search { words } => Prepared::Search(SearchMessagesRequest {
                query: words.query(),
                ..Default::default()
            }),
            Ask::Append { messages } => Prepared::Append(Appending::of(messages)),
        }
    }
}

impl Words {
    fn query(self) -> String {
        match self {
            Self::Frequent => speech::FREQUENT.to_owned(),
            // In the middle; a person says every sixth message.
            Self::Rare { messages } => speech::rare(messages / 12 * 6),
            Self::Absent => "nowhere".to_owned(),
        }
    }
}

fn page(session: &str, tools: bool, offset: i64) -> GetHistoryRequest {
    GetHistoryRequest {
        target: Some(target(session)),
        limit: Some(PAGE),
        offset: Some(offset),
        include_tools: tools,
        ..Default::default()
    }
}

/// A call that can be made.
#[derive(Clone, Debug)]
pub(crate) enum Prepared {
    Page(GetHistoryRequest),
    Tails(TailSessionsRequest),
    Search(SearchMessagesRequest),
    Append(Appending),
}

/// Clients that append, each to a transcript of its own.
#[derive(Clone, Debug)]
pub(crate) struct Appending {
    /// Of each append.
    messages: u32,
    /// How many clients there were.
    clients: Arc<AtomicU32>,
}

impl Appending {
    fn of(messages: u32) -> Self {
        Self {
            messages,
            clients: Arc::default(),
        }
    }

    fn client(&self, world: &World) -> RawCall {
        let (messages, client) = (self.messages, self.clients.fetch_add(1, Ordering::Relaxed));
        let key = format!("agent:main:append-of-{messages}-{client}");
        let next = AtomicU32::new(0);
        RawCall::fresh(world.client(), APPEND_MESSAGES, move || {
            let begin = next.fetch_add(messages, Ordering::Relaxed);
            append(&key, begin..begin + messages)
        })
    }
}

impl Prepared {
    /// A client on a connection of its own.
    pub(crate) fn client(&self, world: &World) -> RawCall {
        match self {
            Self::Page(request) => RawCall::same(world.client(), GET_HISTORY, request),
            Self::Tails(request) => RawCall::same(world.client(), TAIL_SESSIONS, request),
            Self::Search(request) => RawCall::same(world.client(), SEARCH_MESSAGES, request),
            Self::Append(appending) => appending.client(world),
        }
    }

    /// The answer's messages and bytes.
    pub(crate) async fn answer(&self, world: &World) -> (u32, usize) {
        let bytes = self.client(world).make().await;
        let size = bytes.len();
        let messages = self.messages(bytes);
        (u32::try_from(messages).unwrap(), size)
    }

    fn messages(&self, answer: Bytes) -> usize {
        match self {
            Self::Page(_) => GetHistoryResponse::decode(answer).unwrap().messages.len(),
            Self::Tails(_) => {
                let answer = TailSessionsResponse::decode(answer).unwrap();
                answer.tails.iter().map(|tail| tail.messages.len()).sum()
            },
            Self::Search(_) => SearchMessagesResponse::decode(answer)
                .unwrap()
                .matches
                .len(),
            Self::Append(_) => AppendMessagesResponse::decode(answer)
                .unwrap()
                .messages
                .len(),
        }
    }
}
