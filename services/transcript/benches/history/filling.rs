//! Fills the transcripts through the front door: appends of 1,000 messages, a few at a time, so that
//! they share commits. A search at the end waits until the index has caught up.

use std::ops::Range;
use std::path::Path;

use confab_bench::table::print_note;
use confab_proto::transcript::v1::{AppendMessagesRequest, SearchMessagesRequest};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::clients::TranscriptClient;
use confab_rpc::wire::message::new_to_proto;
use futures::stream::{self, StreamExt as _};
use tokio::time::Instant;
use tonic::Code;

use crate::speech;
use crate::world::{LARGE, SMALL, Size, TAIL_MESSAGES, World, tail};

/// Messages of one append.
const BATCH: u32 = 1_000;

/// Appends that are under way at the same time.
const TOGETHER: usize = 10;

/// Fills the transcripts in `directory`.
pub(crate) async fn fill(directory: &Path, size: Size) {
    let world = World::open(directory).await;
    let begun = Instant::now();
    let client = TranscriptClient::new(world.client());
    let mut transcripts = vec![(SMALL.to_owned(), size.small)];
    transcripts.extend((0..size.tails).map(|number| (tail(number), TAIL_MESSAGES)));
    transcripts.push((LARGE.to_owned(), size.large));
    let batches = transcripts.into_iter().flat_map(|(key, messages)| {
        let begins = (0..messages).step_by(usize::try_from(BATCH).unwrap());
        begins.map(move |begin| (key.clone(), begin..messages.min(begin + BATCH)))
    });
    let appends = stream::iter(batches).map(|(key, numbers)| {
        let mut client = client.clone();
        async move {
            client.append_messages(append(&key, numbers)).await.unwrap();
        }
    });
    appends.buffer_unordered(TOGETHER).collect::<()>().await;
    let filled = begun.elapsed().as_secs_f64();
    catch_up(client).await;
    let indexed = begun.elapsed().as_secs_f64() - filled;
    world.end().await;
    let rate = f64::from(size.messages()) / filled;
    print_note(&format!(
        "filled in {filled:.1} s: {rate:.0} messages a second, indexed meanwhile; the rest of the \
         index took {indexed:.1} s"
    ));
}

/// Brings the index up to date: a search does it before it looks, as far as its deadline lets it.
async fn catch_up(mut client: TranscriptClient) {
    let request = SearchMessagesRequest {
        query: speech::FREQUENT.to_owned(),
        ..Default::default()
    };
    loop {
        match client.search_messages(request.clone()).await {
            Ok(answer) => {
                assert!(!answer.into_inner().matches.is_empty());
                return;
            },
            Err(status) => assert_eq!(status.code(), Code::DeadlineExceeded, "{status}"),
        }
    }
}

/// Appends the messages with these numbers.
pub(crate) fn append(key: &str, numbers: Range<u32>) -> AppendMessagesRequest {
    AppendMessagesRequest {
        target: Some(target(key)),
        session_id: None,
        messages: numbers
            .map(|number| new_to_proto(&speech::message(number)))
            .collect(),
    }
}

/// The session with this key.
pub(crate) fn target(key: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(key.to_owned()),
        ..Default::default()
    }
}
