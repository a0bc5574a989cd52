use super::*;

#[test]
fn an_identifier_is_short_visible_text() {
    let longest = "x".repeat(ID_BYTES_MAX);
    assert_eq!(RunId::parse(longest.as_str()).unwrap().as_str(), longest);
    for raw in ["", "  ", "a\nb", &"x".repeat(ID_BYTES_MAX + 1)] {
        assert_eq!(
            RunId::parse(raw),
            Err(IdError { what: "a runId" }),
            "{raw:?}"
        );
    }
}

#[test]
fn an_identifier_is_checked_when_it_is_read_from_json() {
    assert_eq!(
        serde_json::from_str::<SessionId>("\"s-1\"")
            .unwrap()
            .to_string(),
        "s-1"
    );
    let error = serde_json::from_str::<SessionId>("\"\"")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("a sessionId must be 1 to 256 bytes"),
        "{error}"
    );
}

#[test]
fn the_default_tenant_is_a_valid_identifier() {
    assert_eq!(TenantId::parse("default"), Ok(TenantId::default()));
}

#[test]
fn a_refused_agent_id_is_named_with_the_allowed_form() {
    let error = AgentId::parse_strict("../ops").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid agentId \"../ops\". Agent IDs must match [a-z0-9][a-z0-9_-]{0,63}. \
         Use agents_list to discover valid targets."
    );
    assert_eq!(AgentId::parse_strict("Ops"), Ok(AgentId::normalise("ops")));
}

#[test]
fn an_account_id_is_normalised_like_an_agent_id_with_its_own_fallback() {
    assert_eq!(normalise_account_id("My Account"), "my-account");
    assert_eq!(normalise_account_id("é"), "default");
}
