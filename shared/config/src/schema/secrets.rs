//! The secrets that the settings know, so that they can be hidden wherever they stand.
//!
//! Source: run:R17, B171.

use secrecy::{ExposeSecret, SecretString};

use super::confab::ConfabSection;
use crate::settings::{Agents, Auth, Driver, KeyMaterial, SinkKind, Storage};

/// Finds what an environment variable holds; absent when it holds nothing.
pub(crate) type Variables<'v> = &'v dyn Fn(&str) -> Option<SecretString>;

/// Every secret that the file holds, or that a variable it names holds.
pub(super) fn of(agents: &Agents, confab: &ConfabSection, variables: Variables<'_>) -> Vec<String> {
    let mut names = key_variables(&confab.auth);
    names.extend(sink_variables(confab));
    names.extend(driver_variables(agents));
    let held = names.into_iter().filter_map(variables);
    let mut secrets: Vec<String> = held
        .map(|secret| secret.expose_secret().to_owned())
        .collect();
    if let Some(Storage::Postgres { url }) = &confab.storage {
        secrets.extend(passwords(url.expose_secret()).map(str::to_owned));
    }
    secrets
}

fn key_variables(auth: &Auth) -> Vec<&str> {
    match auth {
        Auth::Open => Vec::new(),
        Auth::Jwt { keys } => keys
            .iter()
            .filter_map(|key| match &key.material {
                KeyMaterial::SecretEnv(name) => Some(name.as_str()),
                KeyMaterial::PublicKeyFile(_) => None,
            })
            .collect(),
    }
}

fn sink_variables(confab: &ConfabSection) -> impl Iterator<Item = &str> {
    let sinks = confab.deliveries.sinks.iter();
    sinks.filter_map(|sink| match &sink.kind {
        SinkKind::Webhook { secret_env, .. } => secret_env.as_deref(),
        SinkKind::Stream | SinkKind::Discard => None,
    })
}

fn driver_variables(agents: &Agents) -> impl Iterator<Item = &str> {
    agents
        .list()
        .iter()
        .filter_map(|agent| match &agent.driver {
            Driver::OpenAi(settings) => settings.api_key_env.as_deref(),
            Driver::Script(_) | Driver::Worker => None,
        })
}

/// The password before the host of an address, and those among its options.
fn passwords(address: &str) -> impl Iterator<Item = &str> {
    let (place, options) = address.split_once('?').unwrap_or((address, ""));
    let user = place
        .rsplit_once('@')
        .and_then(|(user, _)| user.split_once("://"));
    let of_user = user.and_then(|(_, user)| user.split_once(':'));
    let of_options = options
        .split('&')
        .filter_map(|option| option.split_once('='))
        .filter(|(name, _)| name.ends_with("password"));
    of_user
        .into_iter()
        .chain(of_options)
        .map(|(_, password)| password)
}

#[cfg(test)]
mod tests {
    use super::passwords;

    #[test]
    fn run_r17_the_passwords_of_an_address_are_found() {
        let cases = [
            ("postgres://host/db", ""),
            ("postgres://ann@host/db", ""),
            ("postgres://ann:hunter22@host:5432/db", "hunter22"),
            ("postgres://ann:hun@ter:22@host/db", "hun@ter:22"),
            (
                "postgres://ann:hunter22@host/db?sslmode=on&sslpassword=other",
                "hunter22 other",
            ),
            ("postgres:///db?password=hunter22", "hunter22"),
        ];
        for (address, expected) in cases {
            let found: Vec<&str> = passwords(address).collect();
            assert_eq!(found.join(" "), expected, "{address}");
        }
    }
}
