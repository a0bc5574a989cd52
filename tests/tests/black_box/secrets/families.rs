//! Every family of credentials, each as it stands in a text. None of them is real: their bodies are
//! made here.
//!
//! Source: run:R3, run:R5, run:R6, run:R8, run:R9, run:R10, run:R11, run:R12, run:R13, run:R14,
//! run:R15.

/// A text that holds a secret.
#[derive(Clone, Debug)]
pub(super) struct Planted {
    /// What is said.
    pub(super) text: String,
    /// What must not be told again.
    pub(super) secret: String,
}

/// What the body of a secret is made of.
#[derive(Clone, Copy, Debug)]
enum Body {
    Letters(usize),
    Hex(usize),
    Digits(usize),
}

use Body::{Digits, Hex, Letters};

impl Body {
    fn make(self) -> String {
        let (signs, length) = match self {
            Letters(length) => ("q7Wz3Kd9Xv5Rt1Hb", length),
            Hex(length) => ("7c0e9a1f4b8d2653", length),
            Digits(length) => ("4871930265", length),
        };
        signs.chars().cycle().take(length).collect()
    }
}

/// Beginnings that issuers give their tokens, with a body of the length they have.
const PREFIXES: [(&str, Body); 81] = [
    ("sk-", Letters(40)),
    ("ghp_", Letters(36)),
    ("gho_", Letters(36)),
    ("ghu_", Letters(36)),
    ("ghs_", Letters(36)),
    ("ghr_", Letters(36)),
    ("github_pat_", Letters(40)),
    ("glpat-", Letters(20)),
    ("gloas-", Hex(64)),
    ("xoxb-", Letters(30)),
    ("xoxa-", Letters(30)),
    ("xoxp-", Letters(30)),
    ("xoxr-", Letters(30)),
    ("xoxs-", Letters(30)),
    ("xapp-", Letters(30)),
    ("gsk_", Letters(40)),
    ("AIza", Letters(35)),
    ("ya29.", Letters(40)),
    ("1//0", Letters(40)),
    ("pplx-", Letters(40)),
    ("fal_", Letters(30)),
    ("fc-", Letters(30)),
    ("bb_live_", Letters(30)),
    ("gAAAA", Letters(60)),
    ("sk_live_", Letters(24)),
    ("sk_test_", Letters(24)),
    ("rk_live_", Letters(24)),
    ("npm_", Letters(36)),
    ("pypi-", Letters(60)),
    ("dop_v1_", Hex(64)),
    ("doo_v1_", Hex(64)),
    ("dor_v1_", Hex(64)),
    ("dp.ct.", Letters(42)),
    ("dp.pt.", Letters(42)),
    ("dp.sa.", Letters(42)),
    ("dp.scim.", Letters(42)),
    ("dp.audit.", Letters(42)),
    ("dp.st.", Letters(42)),
    ("dckr_pat_", Letters(27)),
    ("dckr_oat_", Letters(32)),
    ("bkua_", Hex(40)),
    ("CCIPAT_", Letters(40)),
    ("sbp_", Hex(40)),
    ("dapi", Hex(32)),
    ("ddp_", Letters(36)),
    ("ddw_", Letters(36)),
    ("glsa_", Letters(41)),
    ("glc_eyJ", Letters(80)),
    ("nfp_", Letters(36)),
    ("CFPAT-", Letters(43)),
    ("ATCTT3xFfG", Letters(60)),
    ("ATATT", Letters(60)),
    ("ATBB", Letters(40)),
    ("BBDC-", Letters(44)),
    ("HRKU-AA", Letters(58)),
    ("pat-eu1-", Letters(0)),
    ("apify_api_", Letters(36)),
    ("fio-u-", Letters(64)),
    ("am_", Letters(30)),
    ("sk_", Letters(30)),
    ("tvly-", Letters(30)),
    ("exa_", Letters(30)),
    ("syt_", Letters(30)),
    ("retaindb_", Letters(30)),
    ("hsk-", Letters(30)),
    ("mem0_", Letters(30)),
    ("brv_", Letters(30)),
    ("xai-", Letters(40)),
    ("fw-", Letters(40)),
    ("fw_", Letters(40)),
    ("fpk_", Letters(40)),
    ("AKIA", Letters(0)),
    ("ASIA", Letters(0)),
    ("AKID", Letters(32)),
    ("LTAI", Letters(24)),
    ("hf_", Letters(34)),
    ("api_org_", Letters(34)),
    ("r8_", Letters(37)),
    ("FlyV1 fm2_", Letters(60)),
    ("Bearer ", Letters(40)),
    ("Authorization: Bot ", Letters(40)),
];

/// Names that say that what follows is secret; `@` is its place.
const NAMED: [&str; 57] = [
    "OPENAI_API_KEY=@",
    "DEPLOY_TOKEN=@",
    "MY_SECRET=@",
    "DB_PASSWORD=@",
    "DB_PASSWD=@",
    "CARD_NUMBER=@",
    "CARD_CVC=@",
    "SECURITY_CODE=@",
    "PAYMENT_CREDENTIAL=@",
    "SHARED_PAYMENT_TOKEN=@",
    "export API_TOKEN=\"@\"",
    "{\"apiKey\": \"@\"}",
    "{\"token\": \"@\"}",
    "{\"secret\": \"@\"}",
    "{\"password\": \"@\"}",
    "{\"passwd\": \"@\"}",
    "{\"accessToken\": \"@\"}",
    "{\"refreshToken\": \"@\"}",
    "{\"api_key\": \"@\"}",
    "{\"apiToken\": \"@\"}",
    "{\"bearerToken\": \"@\"}",
    "{\"credential\": \"@\"}",
    "{\"authorization\": \"@\"}",
    "{\"idToken\": \"@\"}",
    "{\"authToken\": \"@\"}",
    "{\"clientSecret\": \"@\"}",
    "{\"private_key\": \"@\"}",
    "{\"secret_value\": \"@\"}",
    "{\"raw_secret\": \"@\"}",
    "{\"secret_input\": \"@\"}",
    "{\"key_material\": \"@\"}",
    "{\\\"apiKey\\\": \\\"@\\\"}",
    "deploy --api-key @ --verbose",
    "deploy --token @",
    "deploy --secret @",
    "deploy --password @",
    "deploy --passwd @",
    "Authorization: Bearer @",
    "Authorization: Basic @",
    "Proxy-Authorization: Basic @",
    "X-API-Key: @",
    "X-Auth-Token: @",
    "X-OpenClaw-Token: @",
    "X-Pomerium-Jwt-Assertion: @",
    "Set-Cookie: @",
    "https://host.example/v1?access_token=@&page=2",
    "https://host.example/v1?x-amz-signature=@",
    "https://host.example/cb?code=@&state=1",
    "https://person:@@host.example/x",
    "postgres://person:@@db.example/x",
    "mongodb+srv://person:@@db.example/x",
    "redis://person:@@db.example/0",
    "amqps://person:@@db.example/x",
    "then password=@ and go on",
    "user=ann&client_secret=@&scope=all",
    "user=ann&client%5Fsecret=@&scope=all",
    "apiKey: \"@\"",
];

/// Everything that is planted.
pub(super) fn all() -> Vec<Planted> {
    let mut all: Vec<Planted> = PREFIXES.into_iter().map(prefixed).collect();
    all.extend(NAMED.into_iter().map(named));
    all.extend(shaped());
    all
}

fn prefixed((prefix, body): (&str, Body)) -> Planted {
    let body = match prefix {
        "pat-eu1-" => "7c0e9a1f-4b8d-4653-8a1f-7c0e9a1f4b8d".to_owned(),
        "AKIA" | "ASIA" => "Q7WZ3KD5XV2RT6HB".to_owned(),
        _ => body.make(),
    };
    Planted {
        text: format!("use {prefix}{body} for it"),
        secret: format!("{prefix}{body}"),
    }
}

fn named(form: &str) -> Planted {
    let secret = Letters(27).make();
    // Only the last `@` of an address with a password is its place's end.
    let text = form.replacen('@', &secret, 1);
    Planted { text, secret }
}

/// Secrets with a shape of their own.
fn shaped() -> Vec<Planted> {
    let body = Letters(64).make();
    let token = format!(
        "eyJ{}.{}.{}",
        Letters(30).make(),
        Letters(40).make(),
        Letters(43).make()
    );
    let telegram = format!("{}:{}", Digits(10).make(), Letters(35).make());
    let mail = format!("SG.{}.{}", Letters(22).make(), Letters(43).make());
    let slack = format!(
        "https://hooks.slack.com/services/T00/B00/{}",
        Letters(24).make()
    );
    let discord = format!(
        "https://discord.com/api/webhooks/{}/{}",
        Digits(18).make(),
        Letters(40).make()
    );
    let bot = format!(
        "{}.{}.{}",
        Letters(24).make(),
        Letters(6).make(),
        Letters(27).make()
    );
    let whole = |secret: &String| Planted {
        text: format!("see {secret} there"),
        secret: secret.clone(),
    };
    vec![
        Planted {
            text: format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----"
            ),
            secret: body,
        },
        whole(&token),
        whole(&telegram),
        Planted {
            text: format!("https://api.telegram.org/bot{telegram}/getMe"),
            secret: telegram.clone(),
        },
        whole(&mail),
        whole(&slack),
        whole(&discord),
        Planted {
            text: format!("the discord bot token {bot}"),
            secret: bot,
        },
    ]
}

impl Planted {
    /// What of the secret no mask shows: a mask of a long one has its first 6 and last 4 signs.
    pub(super) fn core(&self) -> String {
        let length = self.secret.chars().count();
        let kept = self.secret.chars().skip(6).take(length.saturating_sub(10));
        kept.collect()
    }
}
