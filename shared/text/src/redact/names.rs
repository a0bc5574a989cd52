//! The names of what is secret: fields, parameters, headers, variables.
//!
//! Source: run:R5, run:R6, run:R8, run:R9, run:R10, run:R12, run:R16, D61.

/// Longest name that is known, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 64;

/// How names end, in every spelling; each name of the other tables ends in one of these.
pub(super) const ENDINGS: &[&str] = &[
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "authorization",
    "auth",
    "jwt",
    "session",
    "code",
    "signature",
    "sig",
    "credential",
    "cookie",
    "assertion",
    "cvc",
    "cvv",
    "secret_value",
    "secret-value",
    "secretvalue",
    "secret_input",
    "secret-input",
    "secretinput",
    "key_material",
    "key-material",
    "keymaterial",
    "card_number",
    "card-number",
    "cardnumber",
];

/// Fields whose value is secret wherever they have one, folded.
const FIELDS: &[&str] = &[
    "apikey",
    "apitoken",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "credential",
    "authorization",
    "idtoken",
    "authtoken",
    "hooktoken",
    "clientsecret",
    "appsecret",
    "privatekey",
    "secretvalue",
    "rawsecret",
    "secretinput",
    "keymaterial",
    "secretaccesskey",
    "awssecretaccesskey",
];

/// Fields of a payment, folded.
const PAYMENT: &[&str] = &[
    "cardnumber",
    "cardcvc",
    "cardcvv",
    "cvc",
    "cvv",
    "securitycode",
    "paymentcredential",
    "sharedpaymenttoken",
];

/// Parameters of an address or a form beyond the fields, folded: elsewhere they are ordinary words.
const PARAMETERS: &[&str] = &[
    "key",
    "pass",
    "auth",
    "jwt",
    "session",
    "code",
    "signature",
    "sig",
    "xamzsignature",
    "xamzsecuritytoken",
];

/// Headers whose value is secret, folded.
const HEADERS: &[&str] = &[
    "authorization",
    "proxyauthorization",
    "cookie",
    "setcookie",
    "xapikey",
    "xauthtoken",
    "xopenclawtoken",
    "xpomeriumjwtassertion",
];

/// How the names of secret variables end; case counts.
const VARIABLES: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CARD_NUMBER",
    "CARD_CVC",
    "CARD_CVV",
    "CVC",
    "CVV",
    "SECURITY_CODE",
    "PAYMENT_CREDENTIAL",
    "SHARED_PAYMENT_TOKEN",
];

/// The tables that a change of makes other rules.
pub(super) const TABLES: [&[&str]; 6] = [ENDINGS, FIELDS, PAYMENT, PARAMETERS, HEADERS, VARIABLES];

/// A name in the spelling that all spellings share: small letters without `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folded(String);

impl Folded {
    /// Folds `name`; a name too long to be known folds to nothing (D61).
    pub(super) fn of(name: &str) -> Self {
        if name.len() > NAME_BYTES_MAX {
            return Self(String::new());
        }
        let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
        Self(letters.map(|letter| letter.to_ascii_lowercase()).collect())
    }

    /// A field that is secret in JSON, YAML, flags and assignments.
    pub(super) fn is_field(&self) -> bool {
        self.is_in(FIELDS) || self.is_in(PAYMENT)
    }

    /// A parameter that is secret in an address or a form.
    pub(super) fn is_parameter(&self) -> bool {
        self.is_field() || self.is_in(PARAMETERS)
    }

    /// A header.
    pub(super) fn is_header(&self) -> bool {
        self.is_in(HEADERS)
    }

    /// A header whose value begins with the name of a scheme.
    pub(super) fn has_scheme(&self) -> bool {
        self.0.ends_with("authorization")
    }

    /// A header that holds `name=value` pairs.
    pub(super) fn is_cookie(&self) -> bool {
        self.0.ends_with("cookie")
    }

    /// The secret half of a pair of cloud keys (run:R16).
    pub(super) fn is_cloud_key(&self) -> bool {
        self.0.ends_with("secretaccesskey")
    }

    fn is_in(&self, table: &[&str]) -> bool {
        table.contains(&self.0.as_str())
    }
}

/// Whether `name` is that of a secret variable: capitals, with a telling end.
pub(super) fn is_variable(name: &str) -> bool {
    let capitals = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(capitals) && VARIABLES.iter().any(|ending| name.ends_with(ending))
}

/// Whether the value of a field called `name` is secret, whatever it is.
pub(super) fn is_secret(name: &str) -> bool {
    let folded = Folded::of(name);
    folded.is_field() || folded.is_header() || is_variable(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_ends_in_a_known_ending() {
        let folded_endings: Vec<Folded> = ENDINGS.iter().map(|ending| Folded::of(ending)).collect();
        for name in [FIELDS, PAYMENT, PARAMETERS, HEADERS, VARIABLES].concat() {
            let folded = Folded::of(name);
            assert!(
                folded_endings
                    .iter()
                    .any(|ending| folded.0.ends_with(&ending.0)),
                "{name}"
            );
        }
    }

    #[test]
    fn d61_every_spelling_is_one_name() {
        for name in [
            "api-key", "apiKey", "API_KEY", "ApiKey", "api_key", "apikey",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "keyboard",
            "tokens",
            "sessionKey",
            "key",
            "code",
            "maxTokens",
            "publicKey",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
