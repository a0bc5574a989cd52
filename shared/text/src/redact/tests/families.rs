//! One row for each family: a text, and what is left of it.
//!
//! No token is written out, so that nobody takes a sample for a leak: `A*24` is the letter `A`
//! twenty-four times.

use super::shown;

/// Replaces each mark `X*n` by `n` times `X`.
fn expanded(text: &str) -> String {
    let mut out: Vec<char> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        let mut digits = String::new();
        if letter == '*' {
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
        }
        match digits.parse::<usize>() {
            Ok(count) => {
                let repeated = out.pop().unwrap();
                out.extend(std::iter::repeat_n(repeated, count));
            },
            Err(_) => out.push(letter),
        }
    }
    out.into_iter().collect()
}

fn check(rows: &[(&str, &str, &str)]) {
    for (id, text, expected) in rows {
        assert_eq!(shown(&expanded(text)), *expected, "{id}: {text}");
    }
}

/// A prefix, the letter of its tail, and how many of these it needs.
const PREFIXES: [(&str, char, usize); 84] = [
    ("sk-", 'T', 8),
    ("sk_", 'A', 10),
    ("sk_live_", 'A', 10),
    ("sk_test_", 'A', 10),
    ("rk_live_", 'A', 10),
    ("rk_test_", 'A', 10),
    ("bb_live_", 'A', 10),
    ("ghp_", 'A', 10),
    ("gho_", 'A', 10),
    ("ghu_", 'A', 10),
    ("ghs_", 'A', 10),
    ("ghr_", 'A', 10),
    ("github_pat_", 'A', 10),
    ("glpat-", 'A', 20),
    ("gloas-", 'a', 32),
    ("gldt-", 'A', 20),
    ("glcbt-", 'A', 20),
    ("glptt-", 'A', 20),
    ("glft-", 'A', 20),
    ("glimt-", 'A', 20),
    ("glagent-", 'A', 20),
    ("glwt-", 'A', 20),
    ("glsoat-", 'A', 20),
    ("glffct-", 'A', 20),
    ("glrt-", 'A', 20),
    ("glrtr-", 'A', 20),
    ("GR1348941", 'A', 20),
    ("BBDC-", 'A', 40),
    ("ATBB", 'A', 20),
    ("ATATT", 'A', 20),
    ("ATCTT3xFfG", 'A', 10),
    ("xoxa-", 'A', 10),
    ("xoxb-", 'A', 10),
    ("xoxp-", 'A', 10),
    ("xoxr-", 'A', 10),
    ("xoxs-", 'A', 10),
    ("xapp-", 'A', 10),
    ("syt_", 'A', 10),
    ("gsk_", 'A', 10),
    ("AIza", 'A', 20),
    ("ya29.", 'A', 10),
    ("1//0", 'A', 10),
    ("pplx-", 'A', 10),
    ("fal_", 'A', 10),
    ("fc-", 'A', 10),
    ("xai-", 'A', 30),
    ("tvly-", 'A', 10),
    ("exa_", 'A', 10),
    ("hf_", 'A', 10),
    ("api_org_", 'A', 20),
    ("r8_", 'A', 10),
    ("fw-", 'A', 30),
    ("fw_", 'A', 30),
    ("fpk_", 'A', 30),
    ("am_", 'A', 10),
    ("retaindb_", 'A', 10),
    ("hsk-", 'A', 10),
    ("mem0_", 'A', 10),
    ("brv_", 'A', 10),
    ("apify_api_", 'A', 20),
    ("npm_", 'A', 10),
    ("pypi-", 'A', 10),
    ("dckr_pat_", 'A', 27),
    ("dckr_oat_", 'A', 27),
    ("AKIA", 'F', 16),
    ("ASIA", 'F', 16),
    ("AKID", 'A', 10),
    ("LTAI", 'A', 10),
    ("gAAAA", 'B', 20),
    ("dop_v1_", 'A', 10),
    ("doo_v1_", 'A', 10),
    ("dor_v1_", 'A', 10),
    ("bkua_", 'A', 40),
    ("CCIPAT_", 'A', 20),
    ("sbp_", 'a', 40),
    ("dapi", 'a', 32),
    ("ddp_", 'A', 36),
    ("ddw_", 'A', 36),
    ("glsa_", 'A', 41),
    ("glc_eyJ", 'A', 60),
    ("nfp_", 'A', 36),
    ("CFPAT-", 'A', 40),
    ("HRKU-AA", 'F', 20),
    ("fio-u-", 'A', 40),
];

#[test]
fn run_r14_each_prefix_is_masked_with_its_tail_and_not_below_its_minimum() {
    for (prefix, letter, min) in PREFIXES {
        let tail = |count: usize| letter.to_string().repeat(count);
        let token = format!("use {prefix}{} now", tail(min));
        let left = shown(&token);
        assert!(left.starts_with("use ") && left.ends_with(" now"), "{left}");
        assert!(
            left.len() < token.len() && !left.contains(&tail(8)),
            "{left}"
        );
        let short = format!("use {prefix}{} now", tail(min - 1));
        assert_eq!(shown(&short), short, "{prefix}");
    }
    assert_eq!(PREFIXES.len(), super::super::tokens::TOKENS.len());
}

#[test]
fn tokens_with_a_shape_are_masked() {
    check(&[
        (
            "run:R14",
            "use eyJA*10.B*10.C*10 now",
            "use eyJAAA…CCCC now",
        ),
        ("run:R14", "use SG.A*10.B*12 now", "use SG.AAA…BBBB now"),
        ("run:R14", "use dp.pt.A*40 now", "use dp.pt.…AAAA now"),
        ("run:R14", "use dp.st.prod.A*44 now", "use dp.st.…AAAA now"),
        ("run:R14", "use dp.scim.A*40 now", "use dp.sci…AAAA now"),
        ("run:R14", "pat-na1-0*8-0*4-0*4-0*4-0*12", "pat-na…0000"),
        (
            "run:R14",
            "--header 'FlyV1 fm2_A*24'",
            "--header 'FlyV1 …AAAA'",
        ),
        ("run:R5", "bot1*9:T*35", "bot111111…TTTT"),
        ("run:R5", "token is 1*9:T*35.", "token is 111111…TTTT."),
        (
            "run:R15",
            "https://hooks.slack.com/services/T*9/B*9/c*24",
            "https:…cccc",
        ),
        (
            "run:R15",
            "https://hooks.slack.com/workflows/T*9/c*24",
            "https:…cccc",
        ),
        (
            "run:R15",
            "https://ptb.discord.com/api/v10/webhooks/1*18/W*60",
            "https:…WWWW",
        ),
        (
            "run:R15",
            "Discord bot: M*24.X*6.y*27",
            "Discord bot: MMMMMM…yyyy",
        ),
        (
            "run:R15",
            "discord M*24.X*6.y*26",
            "discord MMMMMMMMMMMMMMMMMMMMMMMM.XXXXXX.yyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
        (
            "run:R16",
            "_gitlab_session=a*32; x",
            "_gitlab_session=aaaaaa…aaaa; x",
        ),
    ]);
}

#[test]
fn variables_and_their_forms_are_masked() {
    check(&[
        ("run:R5", "OPENAI_API_KEY = x1", "OPENAI_API_KEY = ***"),
        ("run:R5", "PASSWORD: \"two words\"", "PASSWORD: \"***\""),
        (
            "run:R5",
            "{\"GITHUB_TOKEN\": \"A*24\"}",
            "{\"GITHUB_TOKEN\": \"AAAAAA…AAAA\"}",
        ),
        (
            "run:R6",
            "CARD_CVC=123 CARD_CVV=123 CVC=1 CVV=2",
            "CARD_CVC=*** CARD_CVV=*** CVC=*** CVV=***",
        ),
        ("run:R6", "SECURITY_CODE=123", "SECURITY_CODE=***"),
        (
            "run:R6",
            r#"{\"API_KEY\":\"A*24\"}"#,
            r#"{\"API_KEY\":\"AAAAAA…AAAA\"}"#,
        ),
        (
            "run:R6",
            r#"run API_KEY=\"A*24\" x"#,
            r#"run API_KEY=\"AAAAAA…AAAA\" x"#,
        ),
        (
            "run:R6",
            r"first\nAPI_KEY=A*24\nlast",
            r"first\nAPI_KEY=AAAAAA…AAAA\nlast",
        ),
        (
            "run:R7",
            "API_KEY=$API_KEY API_KEY=\"${API_KEY:-}\";",
            "API_KEY=$API_KEY API_KEY=\"${API_KEY:-}\";",
        ),
        ("run:R7", "(API_KEY=${API_KEY})", "(API_KEY=${API_KEY})"),
        ("run:R7", "API_KEY=$OTHER_KEY", "API_KEY=***"),
        ("run:R6", "${DB_PASSWORD:-hunter22}", "${DB_PASSWORD:-***}"),
    ]);
}

#[test]
fn fields_and_flags_are_masked() {
    check(&[
        (
            "run:R9",
            r#"{"accessToken":"a","apiToken":"b","authToken":"c"}"#,
            r#"{"accessToken":"***","apiToken":"***","authToken":"***"}"#,
        ),
        (
            "run:R9",
            r#"{"credential":"a","raw_secret":"b","secret_input":"c","key_material":"d"}"#,
            r#"{"credential":"***","raw_secret":"***","secret_input":"***","key_material":"***"}"#,
        ),
        (
            "run:R9",
            r#"{"authorization":"Bearer A*24"}"#,
            r#"{"authorization":"Bearer AAAAAA…AAAA"}"#,
        ),
        (
            "run:R9",
            r#"{"cardNumber": 4111111111111111, "cvc": 123}"#,
            r#"{"cardNumber": ***, "cvc": ***}"#,
        ),
        (
            "run:R9",
            r#"{\\\"token\\\":\\\"A*24\\\"}"#,
            r#"{\\\"token\\\":\\\"AAAAAA…AAAA\\\"}"#,
        ),
        (
            "D61",
            r#"{"api-key":"a","apiKey":"b","API_KEY":"c"}"#,
            r#"{"api-key":"***","apiKey":"***","API_KEY":"***"}"#,
        ),
        ("run:R10", "password: 'hunter22'", "password: '***'"),
        (
            "run:R10",
            "{ token: `A*24`, a: 1 }",
            "{ token: `AAAAAA…AAAA`, a: 1 }",
        ),
        (
            "run:R10",
            "let secret = \"A*24\";",
            "let secret = \"AAAAAA…AAAA\";",
        ),
        (
            "run:R5",
            "--secret A*24 --passwd='x y' --token=abc",
            "--secret AAAAAA…AAAA --passwd='***' --token=***",
        ),
        (
            "run:R5",
            r#"["--token", "A*24", "--x"]"#,
            r#"["--token", "AAAAAA…AAAA", "--x"]"#,
        ),
        (
            "run:R12",
            "password=hunter22,token='x y';secret=abc",
            "password=***,token='***';secret=***",
        ),
        ("run:R16", "passphrase=hunter22", "passphrase=***"),
    ]);
}

#[test]
fn headers_are_masked() {
    check(&[
        (
            "run:R5",
            "Authorization: Bearer abc",
            "Authorization: Bearer ***",
        ),
        (
            "run:R10",
            "authorization: Basic A*24==",
            "authorization: Basic AAAAAA…AA==",
        ),
        (
            "run:R10",
            "Proxy-Authorization: Basic A*24",
            "Proxy-Authorization: Basic AAAAAA…AAAA",
        ),
        (
            "run:R10",
            "Authorization: A*24",
            "Authorization: AAAAAA…AAAA",
        ),
        (
            "run:R10",
            "Authorization: Digest username=\"ann\", response=\"x\"\nHost: h",
            "Authorization: Digest ***\nHost: h",
        ),
        (
            "run:R10",
            "Cookie: sid=abcdef; theme=dark; x=1\nHost: h",
            "Cookie: sid=ab… x=1\nHost: h",
        ),
        ("run:R10", "Set-Cookie: sid=abc", "Set-Cookie: ***"),
        (
            "run:R16",
            "aws_secret_access_key = A*40",
            "aws_secret_access_key = AAAAAA…AAAA",
        ),
        ("run:R10", "Cookie: A*18", "Cookie: AAAAAA…AAAA"),
        ("run:R10", "Cookie: A*15", "Cookie: AAAAAAAAAAAAAAA"),
        (
            "run:R10",
            "X-OpenClaw-Token: A*24",
            "X-OpenClaw-Token: AAAAAA…AAAA",
        ),
        (
            "run:R10",
            "x-pomerium-jwt-assertion: A*24",
            "x-pomerium-jwt-assertion: AAAAAA…AAAA",
        ),
        (
            "run:R10",
            "\"x-api-key\": \"A*24\"",
            "\"x-api-key\": \"AAAAAA…AAAA\"",
        ),
    ]);
}

#[test]
fn addresses_and_forms_are_masked() {
    check(&[
        (
            "run:R8",
            "/cb?id_token=abc&state=1&SIG=x",
            "/cb?id_token=***&state=1&SIG=***",
        ),
        (
            "run:R8",
            "https://h/p#access_token=A*24&x=1",
            "https://h/p#access_token=AAAAAA…AAAA&x=1",
        ),
        (
            "run:R8",
            "[x](https://h/?hook_token=A*24), y",
            "[x](https://h/?hook_token=AAAAAA…AAAA), y",
        ),
        (
            "run:R8",
            "?x-amz-security-token=A*24&credential=b&cvv=1",
            "?x-amz-security-token=AAAAAA…AAAA&credential=***&cvv=***",
        ),
        (
            "run:R11",
            "rediss://:A*24@h:6379 wss://a:b@h amqps://a:b@h",
            "rediss://:AAAAAA…AAAA@h:6379 wss://a:***@h amqps://a:***@h",
        ),
        (
            "run:R11",
            "postgres://ann:p@ss@db/x",
            "postgres://ann:***@db/x",
        ),
        (
            "run:R13",
            "curl -d 'a=1&token=A*24&b=2' u",
            "curl -d 'a=1&token=***&b=2' u",
        ),
        ("run:R13", "key=A*24&b=2", "key=***&b=2"),
        (
            "run:R13",
            "a=1&client%5Fsecret=A*24&to%6Ben=x",
            "a=1&client%5Fsecret=***&to%6Ben=***",
        ),
        ("run:R13", "to\u{200b}ken=A*24&b=2", "to\u{200b}ken=***&b=2"),
    ]);
}

#[test]
fn run_r3_private_keys_are_masked() {
    let pem =
        |body: &str| format!("a\n-----BEGIN PRIVATE KEY-----{body}-----END PRIVATE KEY-----\nz");
    let masked = pem("\n…redacted…\n");
    let key = "M".repeat(64);
    assert_eq!(shown(&pem(&format!("\n{key}\n{key}\n"))), masked);
    assert_eq!(shown(&pem(&format!("\r\n{key}\r\n"))), masked);
    assert_eq!(shown(&masked), masked);
    assert_eq!(shown(&pem(&key)), "a\n***\nz");
    assert_eq!(shown(&pem(&format!("\\n{key}\\n"))), "a\n***\nz");
    let open = format!("-----BEGIN RSA PRIVATE KEY-----\n{key}\n{key}\n\nso far");
    let expected = "-----BEGIN RSA PRIVATE KEY-----\n…redacted…\n\nso far";
    assert_eq!(shown(&open), expected);
    let escaped = format!("\"key\": \"-----BEGIN PRIVATE KEY-----\\n{key}\\n{key}");
    assert_eq!(shown(&escaped), "\"key\": \"-----BEGIN PRIVATE KEY-----***");
    let in_variable = format!("KEY=-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----");
    assert!(!shown(&in_variable).contains("MMMM"));
}

#[test]
fn what_looks_like_a_mask_or_stays_open_hides_nothing() {
    check(&[
        ("run:R14", "my key…ghp_A*36 end", "my key…ghp_AA…AAAA end"),
        (
            "run:R12",
            "…password=\"hunter22secret\"",
            "…password=\"***\"",
        ),
        ("run:R1", "sk-AAA…AAAA stays", "sk-AAA…AAAA stays"),
        (
            "run:R9",
            "{\"password\": \"hunter22hunter22",
            "{\"password\": \"***",
        ),
        (
            "run:R5",
            "API_KEY=\"first\nsecond\"",
            "API_KEY=\"***\nsecond\"",
        ),
        ("run:R9", "{\"password\": \"", "{\"password\": \""),
    ]);
}
