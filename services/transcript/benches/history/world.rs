//! A transcript over a directory, served on a loopback socket, with a registry that knows every
//! session and lets everybody see it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use confab_bench::serve::{self, Service};
use confab_config::{Live, Source};
use confab_model::clock::Timestamp;
use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::clients::Call;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{About, Answer, Authority, Question, Reach, Scope, Target};
use confab_rpc::serve::Services;
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use confab_transcript::{Transcript, TranscriptOptions};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The transcript that is deep.
pub(crate) const LARGE: &str = "agent:main:large";

/// The transcript that it is compared with.
pub(crate) const SMALL: &str = "agent:main:small";

/// One of the transcripts whose ends are read together.
pub(crate) fn tail(number: u32) -> String {
    format!("agent:main:tail-{number}")
}

/// How many messages there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// In the deep transcript.
    pub(crate) large: u32,
    /// In the one beside it.
    pub(crate) small: u32,
    /// Further transcripts, each of [`TAIL_MESSAGES`].
    pub(crate) tails: u32,
}

/// Messages of a transcript whose end is read with others: 20 of them are no tool messages.
pub(crate) const TAIL_MESSAGES: u32 = 40;

impl Size {
    /// As many messages in the deep transcript; the others are no longer than it.
    pub(crate) fn with_messages(self, large: u32) -> Self {
        Self {
            large,
            small: self.small.min(large),
            ..self
        }
    }

    /// All of them.
    pub(crate) const fn messages(self) -> u32 {
        self.large + self.small + self.tails * TAIL_MESSAGES
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            large,
            small,
            tails,
        } = self;
        write!(
            formatter,
            "a transcript of {large} messages, one of {small}, {tails} of {TAIL_MESSAGES}"
        )
    }
}

/// A registry to which every key is a session.
#[derive(Clone, Copy, Debug)]
struct KnowsAll;

impl Authority for KnowsAll {
    async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        let (targets, scope) = match question.about {
            About::One(target) => (vec![target], None),
            About::Many(targets) => (targets, None),
            About::Nothing => (Vec::new(), None),
            About::Scope => (Vec::new(), Some(EVERYTHING)),
        };
        Ok(Answer {
            decisions: targets.iter().map(|target| Ok(session(target))).collect(),
            scope,
        })
    }
}

const EVERYTHING: Scope = Scope {
    reach: Reach::All,
    note: None,
};

/// What the only sessionId of a key begins with.
const GENERATION: &str = "generation-1-of-";

/// The session with this key, or with this sessionId.
fn session(target: &Target) -> Session {
    let named = target.session_key.as_deref().unwrap();
    let key = named.strip_prefix(GENERATION).unwrap_or(named);
    let key = SessionKey::parse(key).unwrap();
    let session_id = SessionId::parse(format!("{GENERATION}{key}")).unwrap();
    Session::fresh(key, session_id, Timestamp::from_millis(1_700_000_000_000))
}

/// The transcript and its clients' address.
#[derive(Debug)]
pub(crate) struct World {
    url: String,
    transcript: Transcript<KnowsAll>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl World {
    /// Opens the transcript in `directory` and serves it.
    pub(crate) async fn open(directory: &Path) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (settings, _) = Live::start(Source::inline("{}")).unwrap();
        let options = TranscriptOptions {
            data_dir: directory.to_path_buf(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            settings: settings.clone(),
            tracker: tasks.clone(),
            stop: CancellationToken::new(),
            authority: KnowsAll,
        };
        let transcript = Transcript::open(options).await.unwrap();
        let mut services = Services::default();
        transcript.add_to(&mut services);
        let service = Service {
            name: "confab-transcript",
            services,
            checks: transcript.checks(),
            settings,
        };
        let url = service.start(&tasks, &stop).await;
        Self {
            url,
            transcript,
            tasks,
            stop,
        }
    }

    pub(crate) const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(crate) fn stopped(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// An operator on a connection of its own.
    pub(crate) fn client(&self) -> Call {
        serve::client(&self.url, None)
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.transcript.close().await;
        self.tasks.close();
        self.tasks.wait().await;
    }
}
