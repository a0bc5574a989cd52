//! `confab token …`

use std::sync::Arc;

use confab_config::{Source, load};
use confab_model::id::{AgentId, Ids as _, TenantId};
use confab_model::key::KeyRules;
use confab_rpc::caller::{Caller, Identity};
use confab_rpc::identity::Minter;
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use serde_json::json;

use crate::cli::server::{Mint, RoleArg, TokenCommand};
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;

/// What the subject of every token begins with: it was made on the command line.
const SUBJECT: &str = "cli";

/// Does what was typed.
///
/// # Errors
/// When there is no key to sign with, or the role lacks what belongs to it.
pub fn run(command: TokenCommand, screen: &mut Screen) -> Result<Exit, Failure> {
    let TokenCommand::Mint(args) = command;
    let token = mint(args)?;
    if screen.json {
        screen.value(&json!({ "token": token }))?;
    } else {
        screen.say(&token)?;
    }
    Ok(Exit::Done)
}

fn mint(args: Mint) -> Result<String, Failure> {
    let lifetime = args.ttl;
    let loaded = load(&Source::of_process(args.config.clone())).map_err(|error| {
        Failure::broken("the configuration cannot be used", &error)
            .hint("`confab config check FILE` tells every problem")
    })?;
    let caller = caller_of(args, &loaded.settings.key_rules())?;
    let minter = Minter::configured(&loaded.settings.auth, Arc::new(SystemClock))
        .map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
    let minter = minter.ok_or_else(|| {
        Failure::new(
            Exit::Refused,
            "there is no key to sign with: confab.auth.mode is \"open\", where callers need no \
             token",
        )
        .hint(
            "name a file with confab.auth: { mode: \"jwt\", keys: [{ kid, alg, secretEnv }] } by \
             --config or CONFAB_CONFIG",
        )
    })?;
    minter
        .mint(&caller, lifetime)
        .map_err(|error| Failure::broken("the token cannot be made", &error))
}

/// Whom the token is for; every option is checked, and only those that belong to the role are taken.
fn caller_of(args: Mint, rules: &KeyRules) -> Result<Caller, Failure> {
    let tenant = TenantId::parse(args.tenant)
        .map_err(|error| Failure::usage(format!("--tenant: {error}")))?;
    let identity = match (args.role, args.session, args.agent, args.channel) {
        (RoleArg::Operator, None, None, None) => Identity::Operator,
        (RoleArg::Service, None, None, None) => Identity::Service,
        (RoleArg::Agent, Some(session), None, None) => {
            // As the server knows it, so that the token names the real session.
            let session = rules.canonicalise(&session, None, None);
            let session = session.map_err(|error| Failure::usage(format!("--session: {error}")))?;
            Identity::Agent { session, run: None }
        },
        (RoleArg::Worker, None, Some(agent), None) => {
            let agent = AgentId::parse_strict(&agent);
            let agent = agent.map_err(|error| Failure::usage(format!("--agent: {error}")))?;
            Identity::Worker { agent }
        },
        (RoleArg::Channel, None, None, Some(channel)) => Identity::Channel { channel },
        (RoleArg::Operator | RoleArg::Service, ..) => {
            return Err(wrong(
                "operator and service take none of --session, --agent, --channel",
            ));
        },
        (RoleArg::Agent, ..) => return Err(wrong("agent needs --session KEY and nothing else")),
        (RoleArg::Worker, ..) => return Err(wrong("worker needs --agent ID and nothing else")),
        (RoleArg::Channel, ..) => return Err(wrong("channel needs --channel C and nothing else")),
    };
    Ok(Caller {
        tenant,
        identity,
        // Of its own: holders of different tokens may use the same idempotency keys.
        subject: Some(format!("{SUBJECT}-{}", RandomIds.next())),
    })
}

fn wrong(rule: &str) -> Failure {
    Failure::usage(format!("--role: role {rule}"))
        .hint("for example: confab token mint --role agent --session agent:writer:main")
}

#[cfg(test)]
mod tests {
    use confab_model::key::Scope;

    use super::*;

    fn args(
        role: RoleArg,
        session: Option<&str>,
        agent: Option<&str>,
        channel: Option<&str>,
    ) -> Mint {
        Mint {
            role,
            session: session.map(str::to_owned),
            agent: agent.map(str::to_owned),
            channel: channel.map(str::to_owned),
            tenant: "default".to_owned(),
            ttl: std::time::Duration::from_mins(1),
            config: None,
        }
    }

    fn rules() -> KeyRules {
        let writer = AgentId::normalise("writer");
        KeyRules {
            agents: vec![writer.clone()],
            default_agent: writer,
            scope: Scope::PerSender,
        }
    }

    #[test]
    fn each_role_takes_what_belongs_to_it_and_nothing_else() {
        let (s, a, c) = (Some("agent:writer:main"), Some("writer"), Some("slack"));
        let cases = [
            (args(RoleArg::Operator, None, None, None), true),
            (args(RoleArg::Operator, s, None, None), false),
            (args(RoleArg::Service, None, None, c), false),
            (args(RoleArg::Agent, s, None, None), true),
            (args(RoleArg::Agent, None, None, None), false),
            (args(RoleArg::Agent, s, a, None), false),
            (args(RoleArg::Agent, Some("agent:x"), None, None), false),
            (args(RoleArg::Worker, None, a, None), true),
            (args(RoleArg::Worker, None, Some("not an id"), None), false),
            (args(RoleArg::Channel, None, None, c), true),
            (args(RoleArg::Channel, None, None, None), false),
        ];
        for (args, good) in cases {
            let told = format!("{args:?}");
            let made = caller_of(args, &rules());
            assert_eq!(made.is_ok(), good, "{told}");
            assert!(
                made.err().is_none_or(|failure| failure.exit == Exit::Usage),
                "{told}"
            );
        }
    }

    #[test]
    fn every_token_has_a_subject_of_its_own() {
        let subject = || {
            let made = caller_of(args(RoleArg::Operator, None, None, None), &rules());
            made.unwrap().subject.unwrap()
        };
        let (first, second) = (subject(), subject());
        assert!(first.starts_with("cli-"), "{first}");
        assert_ne!(first, second);
    }

    #[test]
    fn an_agent_may_be_named_by_its_main_session() {
        let caller = caller_of(args(RoleArg::Agent, Some("main"), None, None), &rules()).unwrap();
        assert_eq!(caller.session().unwrap().as_str(), "agent:writer:main");
    }
}
