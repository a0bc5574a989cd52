//! What looks like a credential to a coarse eye.

use std::borrow::Cow;

use super::super::Redactor;

#[test]
fn b166_what_is_no_credential_stays() {
    let samples = [
        "id 123e4567-e89b-12d3-a456-426614174000 done",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "the token is: later",
        "our password policy: twelve characters, and no word of a dictionary",
        "press any key: it goes on",
        "a secret: he left",
        "authorization: granted to all members yesterday",
        "cookie: a small biscuit",
        "tokens: 1200 in / 300 out",
        "{\"maxTokens\": 4096, \"sessionKey\": \"agent:main:main\", \"publicKey\": \"abc\"}",
        "agent:main:telegram:group:123456789:thread:550e8400-e29b-41d4-a716-446655440000",
        "use sk-learn-and-friends, or a pre-sk-something-else",
        "fn am_configuration() { param_authorization(); exa_performance() }",
        "task-force ask-me-anything desk-reference disk-encryption risk-assessment",
        "if token == other { key = value; session = open(); }",
        "TokenKind::Key::new(KEY::A, TOKEN::B)",
        "at 2026-07-12T21:23:49Z, 12:34:56, line 1234567:8",
        "http://localhost:8080/a?page=2&sort=asc#top",
        "ssh git@github.com:owner/repository-with-a-long-name.git",
        "npm_config_registry=https://registry.npmjs.org",
        "let code = 1; let pass = count(); auth(session)",
        "100% of keys, 5%-10% of tokens",
        "👩\u{200d}👩\u{200d}👧 family=1",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "a PRIMARY KEY, and a FOREIGN KEY",
        "export HF_HOME=/data/hf_cache",
        "monkey=banana KEYBOARD=us keys=3",
        "bearer of good news, bearer bonds",
    ];
    let redactor = Redactor::built_in();
    for sample in samples {
        assert!(
            matches!(redactor.redact(sample), Cow::Borrowed(_)),
            "{} -> {}",
            sample,
            redactor.redact(sample)
        );
    }
}
