//! `confab sessions …`

use confab_proto::registry::v1::{CreateSessionRequest, GetSessionRequest, ListSessionsRequest};
use confab_proto::types::v1::{ChatType, SessionKind};

use super::{page, present, route, target};
use crate::cli::sessions::{ChatTypeArg, CreateSession, KindArg, ListSessions, SessionsCommand};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;
use crate::render::{records, session};

/// Does what was typed.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(
    services: &Services,
    command: SessionsCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        SessionsCommand::List(args) => list(services, args, screen).await,
        SessionsCommand::Get { key } => {
            let request = GetSessionRequest {
                target: Some(target(&key)),
            };
            let answered = answer(services.registry().get_session(request).await)?;
            let found = present(answered.session, "the session")?;
            let record = session::record(&found)?;
            screen.show(
                || record.into(),
                |paint, now| session::card_of(&found, paint, now),
            )?;
            Ok(Exit::Done)
        },
        SessionsCommand::Create(args) => create(services, *args, screen).await,
    }
}

async fn list(
    services: &Services,
    args: ListSessions,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let (limit, page_token) = page(args.page);
    let request = ListSessionsRequest {
        kinds: args
            .kinds
            .into_iter()
            .map(|kind| i32::from(kind_of(kind)))
            .collect(),
        limit,
        active_minutes: args.active_minutes,
        label: args.label,
        agent_id: args.agent,
        search: args.search,
        archived: args.archived.then_some(true),
        page_token,
    };
    let page = answer(services.registry().list_sessions(request).await)?;
    let record = session::page(&page)?;
    screen.show(
        || record,
        |paint, now| {
            let more = records::more(page.next_page_token.as_deref(), paint);
            session::table(&page.sessions, paint, now) + &more
        },
    )?;
    Ok(Exit::Done)
}

async fn create(
    services: &Services,
    args: CreateSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let chat_type = args.chat_type.map_or(ChatType::Unspecified, chat_type_of);
    let request = CreateSessionRequest {
        session_key: args.key,
        label: args.label,
        delivery_context: route(args.route),
        chat_type: chat_type.into(),
        spawned_by: args.spawned_by,
        sandboxed: args.sandboxed.then_some(true),
        idempotency_key: None,
        spawn_mode: None,
    };
    let answered = answer(services.registry().create_session(request).await)?;
    let made = present(answered.session, "the session")?;
    let created = answered.created;
    let record = session::record(&made)?.put("created", created);
    screen.show(
        || record.into(),
        |paint, now| {
            let what = if created { "created" } else { "exists already" };
            format!("{what}\n{}", session::card_of(&made, paint, now))
        },
    )?;
    Ok(Exit::Done)
}

const fn kind_of(kind: KindArg) -> SessionKind {
    match kind {
        KindArg::Main => SessionKind::Main,
        KindArg::Group => SessionKind::Group,
        KindArg::Cron => SessionKind::Cron,
        KindArg::Hook => SessionKind::Hook,
        KindArg::Node => SessionKind::Node,
        KindArg::Other => SessionKind::Other,
    }
}

const fn chat_type_of(kind: ChatTypeArg) -> ChatType {
    match kind {
        ChatTypeArg::Direct => ChatType::Direct,
        ChatTypeArg::Group => ChatType::Group,
        ChatTypeArg::Channel => ChatType::Channel,
    }
}
