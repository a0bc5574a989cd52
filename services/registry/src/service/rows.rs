//! Rows as callers see them.

use std::path::PathBuf;

use confab_model::session::Session;
use confab_proto::types::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::wire::session::{Perspective, to_proto};

/// Renders rows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The database file that holds the transcripts; absent where there is none.
    pub transcript_database: Option<PathBuf>,
}

impl Rows {
    /// `session` through the eyes of `caller`, with the place of its transcript.
    ///
    /// Source: D1, D58, reg:L31.
    pub fn show(&self, session: &Session, caller: &Caller) -> proto::Session {
        let database = self.transcript_database.as_deref();
        let transcript_path =
            database.map(|file| format!("{}#{}", file.display(), session.session_id));
        let perspective = Perspective {
            requester: caller.session(),
        };
        proto::Session {
            transcript_path,
            ..to_proto(session, &perspective)
        }
    }
}
