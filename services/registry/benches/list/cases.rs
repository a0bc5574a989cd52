//! The lists that are measured.

use confab_bench::raw::RawCall;
use confab_proto::registry::v1::{ListSessionsRequest, ListSessionsResponse};
use confab_proto::types::v1::SessionKind;
use prost::Message as _;

use crate::world::World;

const PATH: &str = "/confab.registry.v1.RegistryService/ListSessions";

/// A list somebody asks for.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The session of the agent that asks; absent: an operator does.
    session: Option<&'static str>,
    request: ListSessionsRequest,
    /// Whether it is the page behind the first one.
    second: bool,
}

impl Case {
    fn new(name: &'static str, limit: i32, change: fn(&mut ListSessionsRequest)) -> Self {
        let mut request = ListSessionsRequest {
            limit: Some(limit),
            ..Default::default()
        };
        change(&mut request);
        Self {
            name,
            session: None,
            request,
            second: false,
        }
    }

    fn of(self, session: &'static str) -> Self {
        Self {
            session: Some(session),
            ..self
        }
    }

    /// The answer's rows and bytes.
    pub(crate) async fn answer(&self, world: &World) -> (u32, usize) {
        let bytes = self.call(world).make().await;
        let page = ListSessionsResponse::decode(bytes.clone()).unwrap();
        (u32::try_from(page.sessions.len()).unwrap(), bytes.len())
    }

    /// A client on a connection of its own.
    pub(crate) fn call(&self, world: &World) -> RawCall {
        let mut request = self.request.clone();
        if self.second {
            request.page_token = Some(world.second_page().to_owned());
        }
        RawCall::same(world.client(self.session), PATH, &request)
    }
}

/// The page token of the list's second page.
pub(crate) async fn second_page(first: RawCall) -> String {
    let page = ListSessionsResponse::decode(first.make().await).unwrap();
    page.next_page_token.unwrap()
}

/// The first page of the plain list.
pub(crate) fn first_page(call: confab_rpc::clients::Call) -> RawCall {
    RawCall::same(call, PATH, &Case::new("", 50, |_| {}).request)
}

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    vec![
        Case::new("limit 50", 50, |_| {}),
        Case::new("limit 200", 200, |_| {}),
        Case {
            second: true,
            ..Case::new("second page", 50, |_| {})
        },
        Case::new("kinds", 50, |request| {
            request.kinds = vec![SessionKind::Main.into(), SessionKind::Cron.into()];
        }),
        Case::new("agent", 50, |request| {
            request.agent_id = Some("a7".to_owned());
        }),
        Case::new("search", 50, |request| {
            request.search = Some("Invoice".to_owned());
        }),
        Case::new("search, no hit", 50, |request| {
            request.search = Some("nowhere to be found".to_owned());
        }),
        Case::new("tree of 1,000", 200, |_| {}).of("agent:a0:main"),
        Case::new("tree of 10,000", 200, |_| {}).of("agent:a1:main"),
    ]
}
