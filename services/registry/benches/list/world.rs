//! A registry with sessions, served on a loopback socket.

use std::sync::Arc;

use confab_bench::serve::{self, Service};
use confab_config::{Live, Source};
use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::{Label, Session};
use confab_registry::store::{Creation, RegistryStore as _};
use confab_registry::{Registry, RegistryOptions};
use confab_rpc::clients::Call;
use confab_rpc::serve::Services;
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use futures::stream::{self, StreamExt as _};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cases;

const AGENTS: u32 = 200;
const TENANTS: [&str; 3] = ["default", "north", "south"];

/// Sessions that are made at the same time, and so share commits.
const TOGETHER: usize = 1_000;

/// How many sessions there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// All of them, over three tenants.
    pub(crate) sessions: u32,
    /// What one session has spawned.
    pub(crate) children: u32,
    /// What another one has spawned, and each of these again.
    pub(crate) branches: u32,
    /// What each of these has spawned at last.
    pub(crate) leaves: u32,
}

impl Size {
    /// As many sessions, or as many as the families and the agents need.
    pub(crate) fn with_sessions(self, sessions: u32) -> Self {
        let level = self.branches * self.branches;
        let families = self.children + self.branches + level + level * self.leaves;
        Self {
            sessions: sessions.max(AGENTS + families),
            ..self
        }
    }
}

/// The registry and its clients' address.
#[derive(Debug)]
pub(crate) struct World {
    size: Size,
    url: String,
    second_page: String,
    registry: Registry,
    tasks: TaskTracker,
    stop: CancellationToken,
    _directory: TempDir,
}

impl World {
    /// Opens a registry in a new directory, fills it and serves it.
    pub(crate) async fn build(size: Size) -> Self {
        let (directory, tasks) = (TempDir::new().unwrap(), TaskTracker::new());
        let (settings, _) = Live::start(Source::inline(config())).unwrap();
        let options = RegistryOptions {
            data_dir: directory.path().to_path_buf(),
            settings: settings.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            tracker: tasks.clone(),
            stop: CancellationToken::new(),
            transcript_database: Some(directory.path().join("transcript.db")),
        };
        let registry = Registry::open(options).await.unwrap();
        fill(&registry, size).await;
        let stop = CancellationToken::new();
        let mut services = Services::default();
        registry.add_to(&mut services);
        let service = Service {
            name: "confab-registry",
            services,
            checks: registry.checks(),
            settings,
        };
        let url = service.start(&tasks, &stop).await;
        let mut world = Self {
            size,
            url,
            second_page: String::new(),
            registry,
            tasks,
            stop,
            _directory: directory,
        };
        world.second_page = cases::second_page(cases::first_page(world.client(None))).await;
        world
    }

    pub(crate) const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(crate) fn stopped(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub(crate) fn second_page(&self) -> &str {
        &self.second_page
    }

    /// A connection of its own, for an agent's session or an operator.
    pub(crate) fn client(&self, session: Option<&str>) -> Call {
        serve::client(&self.url, session)
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "{} sessions, {} tenants, {AGENTS} agents",
            self.size.sessions,
            TENANTS.len()
        )
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.registry.close().await;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn config() -> String {
    let agents: Vec<String> = (0..AGENTS)
        .map(|n| format!(r#"{{ id: "a{n}" }}"#))
        .collect();
    format!("{{ agents: {{ list: [{}] }} }}", agents.join(", "))
}

/// Makes the families, parents first, and then everything else.
async fn fill(registry: &Registry, size: Size) {
    let spawned = |number: u32, by: &str| {
        (
            format!("agent:a{}:subagent:{number}", number % 9),
            by.to_owned(),
        )
    };
    let main = |agent: u32| (format!("agent:a{agent}:main"), String::new());
    make(registry, (0..AGENTS).map(main).collect()).await;
    let mut number = 0;
    let mut next = || {
        number += 1;
        number
    };
    let wide = (0..size.children)
        .map(|_| spawned(next(), "agent:a0:main"))
        .collect();
    make(registry, wide).await;
    let mut level = vec![("agent:a1:main".to_owned(), String::new())];
    for width in [size.branches, size.branches, size.leaves] {
        let mut below = Vec::new();
        for (parent, _) in &level {
            below.extend((0..width).map(|_| spawned(next(), parent)));
        }
        make(registry, below.clone()).await;
        level = below;
    }
    let rest = size.sessions.saturating_sub(next() + AGENTS);
    let others = (0..rest)
        .map(|number| (ordinary(number), String::new()))
        .collect();
    make(registry, others).await;
}

/// The key of a session that nobody spawned.
fn ordinary(number: u32) -> String {
    let agent = number / 3 % AGENTS;
    match number / 600 % 5 {
        0 => format!("agent:a{agent}:discord:group:{number}"),
        1 => format!("agent:a{agent}:cron:{number}"),
        2 => format!("agent:a{agent}:hook:{number}"),
        3 => format!("agent:a{agent}:telegram:direct:{number}"),
        _ => format!("agent:a{agent}:desk-{number}"),
    }
}

/// Makes sessions, each a key and the key of its parent. The parents stand in the first tenant, and
/// so do their families.
async fn make(registry: &Registry, sessions: Vec<(String, String)>) {
    let store = &registry.sessions().store;
    let made =
        stream::iter(sessions.into_iter().enumerate()).map(|(place, (key, parent))| async move {
            let family = key.contains(":subagent:") || key.ends_with(":main");
            let place_of_tenant = if family { 0 } else { place % TENANTS.len() };
            let tenant = TENANTS.get(place_of_tenant).copied().unwrap_or_default();
            let tenant = TenantId::parse(tenant).unwrap();
            let creation = store.create(&tenant, session(place, &key, &parent)).await;
            assert!(matches!(creation.unwrap(), Creation::Created(_)), "{key}");
        });
    made.buffer_unordered(TOGETHER).collect::<()>().await;
}

fn session(place: usize, key: &str, parent: &str) -> Session {
    let shuffled = i64::try_from(place).unwrap() * 7_919 % 1_000_003;
    let moved = Timestamp::from_millis(1_700_000_000_000 + shuffled * 1_000);
    let session_id = SessionId::parse(format!("id-{key}")).unwrap();
    let fresh = Session::fresh(SessionKey::parse(key).unwrap(), session_id, moved);
    let label = (place % 40 == 7).then(|| format!("Invoice {place} {key}"));
    Session {
        label: label.map(|text| Label::parse(&text).unwrap()),
        pinned_at: (place % 2_000 == 9).then_some(moved),
        spawned_by: (!parent.is_empty()).then(|| SessionKey::parse(parent).unwrap()),
        ..fresh
    }
}
