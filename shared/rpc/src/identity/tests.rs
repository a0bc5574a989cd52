use std::sync::Arc;
use std::time::Duration;

use confab_config::settings::{KeyAlgorithm, KeyMaterial, KeySpec};
use confab_model::clock::ManualClock;
use confab_model::key::SessionKey;
use http::HeaderValue;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::caller::Identity;
use crate::serve::fixture::{OneRun, SECRET, START, jwt, line, minter, open, rules};

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    fields
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

fn bearer(token: &str) -> HeaderMap {
    headers(&[("authorization", &format!("Bearer {token}"))])
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::starting_at(START))
}

fn agent(run: Option<&str>) -> Caller {
    let session = SessionKey::parse("agent:writer:main").unwrap();
    let run = run.map(|run| RunId::parse(run).unwrap());
    Caller::agent(TenantId::default(), session, run)
}

/// Signs claims with any header, as somebody else might.
fn signed(header: &Header, claims: &serde_json::Value, secret: &str) -> String {
    let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
    jsonwebtoken::encode(header, claims, &key).unwrap()
}

fn header(kid: Option<&str>) -> Header {
    Header {
        kid: kid.map(ToOwned::to_owned),
        ..Header::new(Algorithm::HS256)
    }
}

fn refused(authenticator: &Authenticator, headers: &HeaderMap) -> String {
    let refusal = authenticator.authenticate(headers).unwrap_err();
    assert_eq!(refusal.reason, Reason::Unauthenticated, "{refusal}");
    refusal.message
}

#[test]
fn in_open_mode_a_caller_names_itself() {
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[], "operator default - - -"),
        (
            &[("confab-role", "operator"), ("confab-tenant", "acme")],
            "operator acme - - -",
        ),
        (&[("confab-role", "service")], "service default - - -"),
        (
            &[("confab-session", "main")],
            "agent default agent:writer:main - -",
        ),
        (
            &[("confab-session", "AGENT:Writer:Main")],
            "agent default agent:writer:main - -",
        ),
        (
            &[("confab-session", "dm:%C3%A9")],
            "agent default agent:writer:dm:é - -",
        ),
        (
            &[("confab-session", " "), ("confab-tenant", "")],
            "operator default - - -",
        ),
        (
            &[("confab-role", "channel"), ("confab-channel", "irc")],
            "channel default - - -",
        ),
        (
            &[("confab-role", "worker"), ("confab-agent", "ops")],
            "worker default - - -",
        ),
    ];
    for (fields, expected) in cases {
        let caller = open().authenticate(&headers(fields)).unwrap();
        assert_eq!(line(&caller), expected, "{fields:?}");
    }
}

#[test]
fn in_open_mode_a_half_name_is_refused_with_what_is_missing() {
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("confab-role", "agent")], "needs confab-session"),
        (&[("confab-role", "channel")], "needs confab-channel"),
        (&[("confab-role", "worker")], "needs confab-agent"),
        (
            &[("confab-role", "owner")],
            "operator, service, agent, channel, worker",
        ),
        (
            &[("confab-role", "operator"), ("confab-session", "main")],
            "for role agent",
        ),
        (&[("confab-session", "%FF")], "percent-encode"),
    ];
    for (fields, expected) in cases {
        let message = refused(&open(), &headers(fields));
        assert!(message.contains(expected), "{fields:?}: {message}");
    }
}

#[test]
fn a_malformed_session_is_a_violation_of_its_field() {
    let refusal = open()
        .authenticate(&headers(&[("confab-session", "agent:x")]))
        .unwrap_err();
    assert_eq!(refusal.reason, Reason::InvalidArgument);
    assert_eq!(refusal.violations.len(), 1);
    assert_eq!(refusal.violations[0].field, "confab-session");
}

#[test]
fn in_open_mode_a_token_is_that_of_a_live_run_or_of_nobody() {
    assert!(refused(&open(), &bearer("live")).contains("no live run"));

    let caller = agent(Some("r1"));
    let alive = open().with_runs(Arc::new(OneRun {
        caller: caller.clone(),
        alive: true,
    }));
    assert_eq!(alive.authenticate(&bearer("live")).unwrap(), caller);
    assert!(refused(&alive, &bearer("other")).contains("no live run"));

    let over = open().with_runs(Arc::new(OneRun {
        caller,
        alive: false,
    }));
    assert!(refused(&over, &bearer("live")).contains("no live run"));
}

#[test]
fn a_token_and_a_name_are_not_believed_together() {
    let runs = Arc::new(OneRun {
        caller: agent(Some("r1")),
        alive: true,
    });
    let clock = clock();
    let token = minter(&clock)
        .mint(&agent(None), Duration::from_mins(1))
        .unwrap();
    for (authenticator, token) in [(open().with_runs(runs), "live"), (jwt(&clock), &token)] {
        for name in [
            "confab-role",
            "confab-session",
            "confab-channel",
            "confab-agent",
        ] {
            let mut fields = bearer(token);
            fields.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
            let message = refused(&authenticator, &fields);
            assert!(message.starts_with(name), "{message}");
        }
    }
}

#[test]
fn a_field_that_is_given_twice_is_refused_even_with_the_same_value() {
    let clock = clock();
    let token = minter(&clock)
        .mint(&agent(None), Duration::from_mins(1))
        .unwrap();
    for authenticator in [open(), jwt(&clock)] {
        for name in [
            "authorization",
            "confab-role",
            "confab-session",
            "confab-tenant",
            "confab-channel",
            "confab-agent",
            "confab-on-behalf-of",
        ] {
            let value = format!("Bearer {token}");
            let message = refused(&authenticator, &headers(&[(name, &value), (name, &value)]));
            assert_eq!(message, format!("{name} is given twice; give it once"));
        }
    }
}

#[test]
fn a_channel_is_named_as_routes_name_it() {
    let named = headers(&[("confab-role", "channel"), ("confab-channel", " Slack ")]);
    let caller = open().authenticate(&named).unwrap();
    let slack = Identity::Channel {
        channel: "slack".to_owned(),
    };
    assert_eq!(caller.identity, slack);

    let claims = json!({"role": "channel", "channel": " SLACK", "exp": end()});
    let token = signed(&header(None), &claims, SECRET);
    let caller = jwt(&clock()).authenticate(&bearer(&token)).unwrap();
    assert_eq!(caller.identity, slack);
}

#[test]
fn a_minted_token_says_who_calls() {
    let clock = clock();
    let tenant = TenantId::parse("acme").unwrap();
    let identities = [
        Identity::Operator,
        Identity::Service,
        agent(None).identity,
        agent(Some("r1")).identity,
        Identity::Channel {
            channel: "irc".to_owned(),
        },
        Identity::Worker {
            agent: confab_model::id::AgentId::normalise("ops"),
        },
    ];
    for identity in identities {
        let caller = Caller {
            tenant: tenant.clone(),
            identity,
            subject: Some("me".to_owned()),
        };
        let token = minter(&clock)
            .mint(&caller, Duration::from_mins(1))
            .unwrap();
        assert_eq!(jwt(&clock).authenticate(&bearer(&token)).unwrap(), caller);
    }
}

#[test]
fn a_token_ends_when_it_says_give_or_take_the_clocks() {
    let clock = clock();
    let token = minter(&clock)
        .mint(&agent(None), Duration::from_mins(1))
        .unwrap();
    clock.advance_millis(89_000);
    jwt(&clock).authenticate(&bearer(&token)).unwrap();
    clock.advance_millis(1_000);
    assert!(refused(&jwt(&clock), &bearer(&token)).contains("expired"));
}

/// The end of a token that is valid for a minute.
fn end() -> i64 {
    START.millis() / 1000 + 60
}

fn refused_for(token: &str, expected: &str) {
    let message = refused(&jwt(&clock()), &bearer(token));
    assert!(message.contains(expected), "{token}: {message}");
    assert!(!message.contains(token), "{message}");
}

#[test]
fn a_token_that_is_not_whole_and_ours_is_refused_without_being_repeated() {
    let claims = json!({"role": "operator", "exp": end()});
    let good = signed(&header(Some("k1")), &claims, SECRET);
    jwt(&clock()).authenticate(&bearer(&good)).unwrap();

    let other = signed(
        &header(Some("k1")),
        &json!({"role": "service", "exp": end()}),
        SECRET,
    );
    let tampered = format!(
        "{}.{}",
        other.rsplit_once('.').unwrap().0,
        good.rsplit_once('.').unwrap().1
    );
    // {"alg":"none","kid":"k1"}
    let claimed = good.split('.').nth(1).unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIiwia2lkIjoiazEifQ.{claimed}.");
    let hs512 = Header {
        alg: Algorithm::HS512,
        ..header(Some("k1"))
    };
    let cases = [
        (
            signed(&header(Some("k1")), &claims, "another secret"),
            "signature is wrong",
        ),
        (tampered, "signature is wrong"),
        (unsigned, "no JWT"),
        (
            signed(&hs512, &claims, SECRET),
            "alg is not that of its key",
        ),
        (
            signed(&header(Some("k2")), &claims, SECRET),
            "kid names no key",
        ),
        ("nonsense".to_owned(), "no JWT"),
    ];
    for (token, expected) in cases {
        refused_for(&token, expected);
    }
}

#[test]
fn a_token_with_other_claims_than_its_role_needs_is_refused() {
    let end = end();
    let cases = [
        (json!({"role": "operator"}), "claims are incomplete"),
        (json!({"exp": end}), "claims are incomplete"),
        (json!({"exp": end, "role": 7}), "claims are incomplete"),
        (json!({"exp": end, "role": "root"}), "no role \"root\""),
        (
            json!({"exp": end, "role": "operator", "tenant": ""}),
            "a tenant must be",
        ),
        (json!({"exp": end, "role": "agent"}), "claim session"),
        (
            json!({"exp": end, "role": "agent", "session": "a::b"}),
            "the token's session",
        ),
        (
            json!({"exp": end, "role": "agent", "session": "main", "run": ""}),
            "the token's run",
        ),
        (json!({"exp": end, "role": "channel"}), "claim channel"),
        (json!({"exp": end, "role": "worker"}), "claim agent"),
        (
            json!({"exp": end, "role": "operator", "nbf": end}),
            "not valid yet",
        ),
    ];
    for (claims, expected) in cases {
        refused_for(&signed(&header(None), &claims, SECRET), expected);
    }
}

#[test]
fn of_several_keys_the_token_must_name_one() {
    let clock = clock();
    let keys = ["k1", "k2"].map(|kid| {
        VerifyingKey::hs256(kid, &SecretString::from(format!("{kid}{SECRET}"))).unwrap()
    });
    let authenticator = Authenticator::jwt(keys.into(), Arc::new(rules), clock);
    let claims = json!({"role": "operator", "exp": end()});
    let secret = format!("k2{SECRET}");
    let named = signed(&header(Some("k2")), &claims, &secret);
    authenticator.authenticate(&bearer(&named)).unwrap();
    let unnamed = signed(&header(None), &claims, &secret);
    assert!(refused(&authenticator, &bearer(&unnamed)).contains("no kid"));
    let other = signed(&header(Some("k1")), &claims, &secret);
    assert!(refused(&authenticator, &bearer(&other)).contains("signature is wrong"));
}

#[test]
fn without_a_token_jwt_mode_knows_nobody() {
    let clock = clock();
    for fields in [headers(&[]), headers(&[("confab-role", "service")])] {
        assert!(refused(&jwt(&clock), &fields).contains("no token"));
    }
    for scheme in ["Basic abc", "Bearer", "Bearer  ", "token"] {
        let message = refused(&jwt(&clock), &headers(&[("authorization", scheme)]));
        assert!(message.contains("`Bearer <token>`"), "{scheme}: {message}");
    }
}

#[test]
fn the_token_of_a_dead_run_is_refused() {
    let clock = clock();
    let caller = agent(Some("r1"));
    let token = minter(&clock)
        .mint(&caller, Duration::from_mins(1))
        .unwrap();
    let over = jwt(&clock).with_runs(Arc::new(OneRun {
        caller,
        alive: false,
    }));
    assert!(refused(&over, &bearer(&token)).contains("run is over"));
}

#[test]
fn a_service_names_the_tenant_it_calls_for_and_nobody_else_may() {
    let clock = clock();
    let of = |identity| Caller {
        tenant: TenantId::default(),
        identity,
        subject: None,
    };
    for (identity, expected) in [(Identity::Service, true), (Identity::Operator, false)] {
        let token = minter(&clock)
            .mint(&of(identity), Duration::from_mins(1))
            .unwrap();
        let mut fields = bearer(&token);
        fields.insert(TENANT, HeaderValue::from_static("acme"));
        let told = jwt(&clock)
            .authenticate(&fields)
            .map(|caller| caller.tenant.to_string());
        assert_eq!(told.ok(), expected.then(|| "acme".to_owned()));
    }
}

#[test]
fn only_a_service_may_call_for_another() {
    let (name, value) = behalf::write(&agent(Some("r1")));
    for (role, allowed) in [("service", true), ("operator", false)] {
        let mut fields = headers(&[("confab-role", role)]);
        fields.insert(name.clone(), value.clone());
        let told = open().authenticate(&fields);
        if allowed {
            assert_eq!(told.unwrap(), agent(Some("r1")));
        } else {
            assert!(
                told.unwrap_err()
                    .message
                    .contains("for confab's own services"),
                "{role}"
            );
        }
    }
}

#[test]
fn a_part_of_a_service_travels_as_the_service_with_its_tenant() {
    let system = Caller::system("flows", TenantId::parse("acme").unwrap());
    let (name, value) = behalf::write(&system);
    let mut fields = headers(&[("confab-role", "service")]);
    fields.insert(name, value);
    assert_eq!(
        line(&open().authenticate(&fields).unwrap()),
        "service acme - - -"
    );
}

#[test]
fn a_malformed_behalf_is_refused() {
    let cases = [
        "",
        "x",
        "role=agent&session=agent:a:b",
        "tenant=t&role=agent",
        "tenant=t&role=agent&session=nokey",
        "tenant=t&role=channel",
        "tenant=t&role=worker&agent=%C3%A9",
        "tenant=t&role=service",
        "tenant=t&role=%FF",
        "tenant=&role=operator",
    ];
    for case in cases {
        let fields = headers(&[("confab-role", "service"), ("confab-on-behalf-of", case)]);
        assert_eq!(
            open().authenticate(&fields).unwrap_err().reason,
            Reason::Unauthenticated,
            "{case:?}"
        );
    }
}

#[test]
fn a_key_that_cannot_be_used_is_named() {
    let spec = |alg, material| KeySpec {
        kid: "k9".to_owned(),
        alg,
        material,
    };
    let unset = KeyMaterial::SecretEnv("CONFAB_TEST_NO_SUCH_SECRET".to_owned());
    let file = KeyMaterial::PublicKeyFile("key.pem".into());
    let cases = [
        (
            spec(KeyAlgorithm::Hs256, unset),
            "CONFAB_TEST_NO_SUCH_SECRET",
        ),
        (spec(KeyAlgorithm::EdDsa, file), "alg HS256"),
    ];
    for (spec, expected) in cases {
        let message = VerifyingKey::configured(&spec).unwrap_err().to_string();
        assert!(
            message.contains("\"k9\"") && message.contains(expected),
            "{message}"
        );
    }
    let keys = vec![spec(
        KeyAlgorithm::EdDsa,
        KeyMaterial::PublicKeyFile("key.pem".into()),
    )];
    let refused = Minter::configured(&Auth::Jwt { keys }, clock()).unwrap_err();
    assert!(matches!(refused, KeyError::NoSigningKey), "{refused}");
    assert!(Minter::configured(&Auth::Open, clock()).unwrap().is_none());
}

#[test]
fn open_mode_listens_on_loopback_alone() {
    let jwt = Auth::Jwt { keys: Vec::new() };
    let cases = [
        ("127.0.0.1:7420", true),
        ("127.8.8.8:0", true),
        ("[::1]:7420", true),
        ("[::ffff:127.0.0.1]:7420", true),
        ("0.0.0.0:7420", false),
        ("[::]:7420", false),
        ("10.0.0.1:7420", false),
    ];
    for (address, loopback) in cases {
        let address = address.parse().unwrap();
        assert_eq!(
            check_listener(address, &Auth::Open).is_ok(),
            loopback,
            "{address}"
        );
        assert!(check_listener(address, &jwt).is_ok(), "{address}");
    }
}

fn any_identity() -> impl Strategy<Value = Identity> {
    let session = "[a-zé]{1,8}(:[a-z#&=%é ]{1,8}x){0,2}".prop_filter_map("a key", |rest| {
        SessionKey::parse(&format!("agent:writer:{rest}")).ok()
    });
    let run = proptest::option::of("[!-~é]{1,20}")
        .prop_map(|run| run.map(|run| RunId::parse(run).unwrap()));
    prop_oneof![
        Just(Identity::Operator),
        (session, run).prop_map(|(session, run)| Identity::Agent { session, run }),
        "\\PC{1,20}".prop_map(|channel| Identity::Channel { channel }),
        "[a-z0-9][a-z0-9_-]{0,20}".prop_map(|agent| Identity::Worker {
            agent: agent.into()
        }),
    ]
}

proptest! {
    #[test]
    fn whom_a_service_calls_for_arrives_unchanged(
        tenant in "[!-~é]{1,20}",
        identity in any_identity(),
        subject in proptest::option::of("\\PC{1,20}"),
    ) {
        let tenant = TenantId::parse(tenant).unwrap();
        let caller = Caller { tenant, identity, subject };
        let (name, value) = behalf::write(&caller);
        prop_assert!(value.to_str().is_ok());
        let mut fields = headers(&[("confab-role", "service")]);
        fields.insert(name, value);
        prop_assert_eq!(open().authenticate(&fields).unwrap(), caller);
    }

    #[test]
    fn percent_encoding_round_trips(text in "\\PC*") {
        let encoded = percent::encode(&text);
        prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert_eq!(percent::decode(encoded.as_bytes()), Some(text));
    }
}
