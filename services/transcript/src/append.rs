//! Appending messages.

use confab_model::id::MessageId;
use confab_model::message::{Message, NewMessage};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Subject};

use crate::commands::{AppendMessages, Place};
use crate::shown::{is_from_person, is_shown};
use crate::store::{Appended, Batch, Draft, KeptAhead, TranscriptStore, View};
use crate::{Messages, store_failed};

impl<S: TranscriptStore> Messages<S> {
    /// Appends messages, all or none, and answers with each as it is stored, now or earlier.
    ///
    /// # Errors
    /// When a key is stored with other content, a compaction keeps what does not lie before it, the
    /// session has another generation by now, or the store fails; nothing was appended then.
    ///
    /// Source: D36, D47, run:T15.
    pub async fn append(&self, call: Admitted<AppendMessages>) -> Result<Vec<Message>, RpcError> {
        let place = place_of(&call)?;
        let (request, ..) = call.into_parts();
        let drafts = request
            .messages
            .into_iter()
            .map(|message| self.draft(message));
        let batch = Batch {
            session_key: place.session_key,
            drafts: drafts.collect(),
            blobs: request.blobs,
        };
        let appended = self
            .store
            .append(&place.tenant, &place.session_id, batch)
            .await;
        match appended.map_err(store_failed)? {
            Appended::Stored(messages) => Ok(messages),
            Appended::KeyReused(key) => Err(RpcError::new(
                Reason::KeyReused,
                format!(
                    "messages: key {key:?} is stored with other content: use a new key for a new \
                     message"
                ),
            )),
            Appended::KeptAhead(ahead) => Err(kept_ahead(&ahead)),
        }
    }

    pub(crate) fn draft(&self, body: NewMessage) -> Draft {
        Draft {
            id: MessageId::from_uuid(self.ids.next()),
            at: body.at.unwrap_or_else(|| self.clock.now()),
            in_all: is_shown(&body, View::All),
            in_plain: is_shown(&body, View::Plain),
            from_person: is_from_person(&body),
            body,
        }
    }
}

fn kept_ahead(ahead: &KeptAhead) -> RpcError {
    let KeptAhead {
        key,
        seq,
        first_kept_seq,
    } = ahead;
    RpcError::invalid_field(
        "messages.compaction.firstKeptSeq",
        format!(
            "messages: the compaction with key {key:?} keeps what follows message \
             {first_kept_seq}, but stands at {seq} itself: give 1 to {seq} as firstKeptSeq, or leave \
             it out to keep only what comes after; nothing was appended"
        ),
    )
}

/// Where the messages go: to the generation a service names, else to the admitted session's present
/// one, which must be the one that the caller has in mind.
fn place_of(call: &Admitted<AppendMessages>) -> Result<Place, RpcError> {
    let tenant = call.caller().tenant.clone();
    let named = call.request().session_id.clone();
    if let (Subject::Nothing, Some(session_id)) = (call.subject(), &named) {
        return Ok(Place {
            tenant,
            session_id: session_id.clone(),
            session_key: call.request().session_key.clone(),
        });
    }
    let session = call.session()?;
    if let Some(named) = named.filter(|named| *named != session.session_id) {
        return Err(RpcError::new(
            Reason::Stale,
            format!(
                "session {} is not at sessionId {named} any more: it was reset; leave sessionId \
                 out to append to the present one",
                session.key
            ),
        ));
    }
    Ok(Place {
        tenant,
        session_id: session.session_id.clone(),
        session_key: Some(session.key.clone()),
    })
}

#[cfg(test)]
mod tests;
