//! Who plays, and what the person says.

use confab_proto::types::v1::Route;

/// The configuration of the two agents; a person can start from it.
pub(super) const CONFIG: &str = include_str!("confab.json5");
/// The session a person writes to.
pub(super) const WRITER: &str = "agent:writer:main";
/// The session the writer writes to: a channel of an outside chat.
pub(super) const EDITOR: &str = "agent:editor:slack:channel:reviews";
/// The person's name.
pub(super) const SENDER: &str = "ada";
/// What the person says.
pub(super) const MESSAGE: &str =
    "please review: Agents can talk to one another. Agents can talk among themselves.";
/// Turns of the reply loop that the script takes.
pub(super) const TURNS: i32 = 2;

/// The whole address of the editor's channel.
pub(super) fn route() -> Route {
    Route {
        channel: "slack".to_owned(),
        to: "channel:C024REVIEWS".to_owned(),
        account_id: Some("acme".to_owned()),
        thread_id: Some("1718.0042".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use confab_config::{Source, load};

    use super::*;

    #[test]
    fn the_configuration_is_sound_and_nothing_in_it_is_ignored() {
        let loaded = load(&Source::inline(CONFIG)).unwrap();
        assert_eq!(loaded.warnings, []);
        let agents = loaded.settings.agents;
        let ids: Vec<&str> = agents
            .list()
            .iter()
            .map(|agent| agent.id.as_str())
            .collect();
        assert_eq!(ids, ["writer", "editor"]);
    }
}
