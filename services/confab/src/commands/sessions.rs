//! `confab sessions …`

mod export;
mod lifecycle;
mod list;
mod patch;
mod status;
mod sweep;
mod watch;

use confab_proto::registry::v1::{CreateSessionRequest, GetSessionRequest};
use confab_proto::types::v1::{ChatType, Session};
use confab_rpc::error::Reason;

use super::{present, route, target};
use crate::cli::sessions::{ChatTypeArg, CreateSession, SessionsCommand, SpawnModeArg};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;
use crate::render::session;

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
        SessionsCommand::List(args) => list::run(services, *args, screen).await,
        SessionsCommand::Get { key } => {
            let found = get(services, &key).await?;
            let record = session::record(&found)?;
            screen.show(
                || record.into(),
                |paint, now| session::card_of(&found, paint, now),
            )?;
            Ok(Exit::Done)
        },
        SessionsCommand::Create(args) => create(services, *args, screen).await,
        SessionsCommand::Patch(args) => patch::run(services, args, screen).await,
        SessionsCommand::Reset(args) => lifecycle::reset(services, args, screen).await,
        SessionsCommand::Archive(args) => lifecycle::archive(services, args, screen).await,
        SessionsCommand::Restore { key, force: _ } => {
            lifecycle::restore(services, &key, screen).await
        },
        SessionsCommand::Delete(args) => lifecycle::delete(services, args, screen).await,
        SessionsCommand::Status(args) => status::run(services, args, screen).await,
        SessionsCommand::Watch(args) => watch::run(services, args, screen).await,
        SessionsCommand::Export(args) => export::run(services, args, screen).await,
        SessionsCommand::Sweep(args) => sweep::run(services, &args, screen).await,
    }
}

/// The session as it is.
async fn get(services: &Services, key: &str) -> Result<Session, Failure> {
    let request = GetSessionRequest {
        target: Some(target(key)),
    };
    let answered = answer(services.registry().get_session(request).await)?;
    present(answered.session, "the session")
}

async fn create(
    services: &Services,
    args: CreateSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let hint = format!(
        "`confab sessions patch {} JSON` changes the fields of a session that exists",
        args.key
    );
    let request = request_of(args);
    let answered = answer(services.registry().create_session(request).await)
        .map_err(|failure| failure.hint_on(Reason::SessionExists, hint))?;
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

fn request_of(args: CreateSession) -> CreateSessionRequest {
    let chat_type = args.chat_type.map_or(ChatType::Unspecified, chat_type_of);
    CreateSessionRequest {
        session_key: args.key,
        label: args.label,
        delivery_context: route(args.route),
        chat_type: chat_type.into(),
        spawned_by: args.spawned_by,
        sandboxed: args.sandboxed.then_some(true),
        idempotency_key: None,
        spawn_mode: args.spawn_mode.map(|mode| spawn_mode_of(mode).to_owned()),
    }
}

const fn chat_type_of(kind: ChatTypeArg) -> ChatType {
    match kind {
        ChatTypeArg::Direct => ChatType::Direct,
        ChatTypeArg::Group => ChatType::Group,
        ChatTypeArg::Channel => ChatType::Channel,
    }
}

const fn spawn_mode_of(mode: SpawnModeArg) -> &'static str {
    match mode {
        SpawnModeArg::Run => "run",
        SpawnModeArg::Session => "session",
    }
}
