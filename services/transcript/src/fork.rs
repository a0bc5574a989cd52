//! Copying what an agent still reads of one session into another one.

use std::sync::Arc;

use confab_model::clock::Timestamp;
use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_model::session::Session;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Authority, Gate};

use crate::commands::fork::{ForkInto, ForkTranscript};
use crate::limits::{FORK_BYTES_MAX, FORK_MESSAGES_MAX};
use crate::store::fork::{Fork, ForkKey, ForkStore, Forked};
use crate::{Messages, store_failed};

const MILLIS_PER_HOUR: i64 = 3_600_000;

/// A fork on its way to its use case.
#[derive(Debug)]
pub enum ForkAdmission {
    /// The gate admits both sessions.
    Fresh {
        /// The call, with the session to copy from.
        call: Box<Admitted<ForkTranscript>>,
        /// The session to copy to.
        into: Box<Admitted<ForkInto>>,
    },
    /// The same caller made the same call before: so many messages were copied then, whatever has
    /// become of the sessions since (D36).
    Repeated(u64),
}

impl<S: ForkStore> Messages<S> {
    /// Judges a fork, unless its caller made it before.
    ///
    /// # Errors
    /// When the key names another call, one of the sessions is refused or missing, both are the same,
    /// or the store fails.
    ///
    /// Source: D36.
    pub async fn admit_fork<A: Authority>(
        &self,
        gate: &Gate<A>,
        caller: Caller,
        request: ForkTranscript,
    ) -> Result<ForkAdmission, RpcError> {
        if let Some(key) = key_of(&caller, &request) {
            let first = self.store.forked(&caller.tenant, &key, self.kept_since());
            if let Some(first) = first.await.map_err(store_failed)? {
                return copied(first, &request).map(ForkAdmission::Repeated);
            }
        }
        let session_key = request.into.clone();
        let call = gate.admit_as(caller.clone(), request).await?;
        let into = gate.admit_as(caller, ForkInto { session_key }).await?;
        refuse_itself(call.session()?, into.session()?)?;
        Ok(ForkAdmission::Fresh {
            call: Box::new(call),
            into: Box::new(into),
        })
    }

    /// Copies the active view of a session into another one that has no messages, all or nothing,
    /// and answers with the number of messages copied, those that no history shows included.
    ///
    /// # Errors
    /// When the other session has messages, there is too much to copy, the key names another call,
    /// or the store fails; nothing was copied then.
    ///
    /// Source: D36, run:T15, run:T17.
    pub async fn fork(&self, admission: ForkAdmission) -> Result<u64, RpcError> {
        let (call, into) = match admission {
            ForkAdmission::Repeated(messages) => return Ok(messages),
            ForkAdmission::Fresh { call, into } => (call, into),
        };
        let (request, caller) = (call.request(), call.caller());
        let into = into.session()?;
        let fork = Fork {
            source: call.session()?.session_id.clone(),
            into: into.session_id.clone(),
            into_key: into.key.clone(),
            key: key_of(caller, request),
            at: self.clock.now(),
            kept_since: self.kept_since(),
        };
        let ids = Arc::clone(&self.ids);
        let forked = self.store.fork(&caller.tenant, fork, ids).await;
        copied(forked.map_err(store_failed)?, request)
    }

    /// Keys that were used before this moment are forgotten.
    fn kept_since(&self) -> Timestamp {
        let kept = i64::from(IDEMPOTENCY_HOURS).saturating_mul(MILLIS_PER_HOUR);
        self.clock.now().plus_millis(-kept)
    }
}

fn key_of(caller: &Caller, request: &ForkTranscript) -> Option<ForkKey> {
    Some(ForkKey {
        owner: caller.idempotency_owner(),
        key: request.idempotency_key.clone()?,
        fingerprint: request.fingerprint.clone(),
    })
}

/// Two generations of one session are the same session.
fn refuse_itself(source: &Session, into: &Session) -> Result<(), RpcError> {
    if source.key != into.key {
        return Ok(());
    }
    let text = format!(
        "intoSessionKey names {}, which is the source itself: name another session, without messages",
        into.key
    );
    Err(RpcError::invalid_field("intoSessionKey", text))
}

/// The number of messages copied, or why none was.
fn copied(forked: Forked, request: &ForkTranscript) -> Result<u64, RpcError> {
    let (reason, text) = match forked {
        Forked::Copied(messages) => return Ok(messages),
        Forked::KeyReused => (
            Reason::KeyReused,
            "idempotencyKey was used for a fork of other sessions: use a new key for a new fork"
                .to_owned(),
        ),
        Forked::NotEmpty => (
            Reason::TranscriptNotEmpty,
            format!(
                "session {} has messages already: fork into a session without any, new or just \
                 reset",
                request.into
            ),
        ),
        Forked::TooMany { messages } => (
            Reason::Limit,
            format!(
                "the source's active view has {messages} messages, and a fork copies at most \
                 {FORK_MESSAGES_MAX}: compact the source first"
            ),
        ),
        Forked::TooLarge { bytes } => (
            Reason::Limit,
            format!(
                "the source's active view has {bytes} bytes, and a fork copies at most \
                 {FORK_BYTES_MAX}: compact the source first"
            ),
        ),
    };
    Err(RpcError::new(reason, text))
}

#[cfg(test)]
mod tests;
