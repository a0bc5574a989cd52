//! The HTTP side: `/healthz`, `/readyz`, `/metrics`, for machines that watch machines.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use confab_config::Live;
use confab_telemetry::Metrics;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::layer::Drain;

/// Something that must work before a service is ready, for example its database.
pub trait Check: Send + Sync + 'static {
    /// What it is, in a word or two.
    fn name(&self) -> &str;

    /// Whether it works; if not, why, in a few words without anything secret.
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// A database that must answer before its service is ready.
struct DatabaseAnswers<F> {
    name: String,
    ask: F,
}

/// The check that the database of `service` answers `ask`; what it fails with is logged. It is named
/// after the service, because a process may have several.
pub fn database_check<F, E>(service: &str, ask: F) -> Arc<dyn Check>
where
    F: Fn() -> BoxFuture<'static, Result<(), E>> + Send + Sync + 'static,
    E: fmt::Display + Send + 'static,
{
    Arc::new(DatabaseAnswers {
        name: format!("{service} database"),
        ask,
    })
}

impl<F, E> Check for DatabaseAnswers<F>
where
    F: Fn() -> BoxFuture<'static, Result<(), E>> + Send + Sync + 'static,
    E: fmt::Display + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        let answer = (self.ask)();
        Box::pin(async move {
            answer.await.map_err(|error| {
                tracing::warn!(%error, "the {} does not answer", self.name);
                error.to_string()
            })
        })
    }
}

/// What the HTTP side tells.
#[derive(Clone)]
pub struct HttpSide {
    /// The fingerprint of the settings in force.
    pub fingerprint: Arc<dyn Fn() -> String + Send + Sync>,
    /// What must work before the service is ready.
    pub checks: Vec<Arc<dyn Check>>,
    /// The metrics it shows.
    pub metrics: Metrics,
}

impl fmt::Debug for HttpSide {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checks: Vec<_> = self.checks.iter().map(|check| check.name()).collect();
        formatter
            .debug_struct("HttpSide")
            .field("checks", &checks)
            .finish_non_exhaustive()
    }
}

impl HttpSide {
    /// Tells the fingerprint of the configuration in force, and shows `metrics`.
    pub fn new(live: &Live, metrics: Metrics, checks: Vec<Arc<dyn Check>>) -> Self {
        let live = live.clone();
        let fingerprint = Arc::new(move || live.current().fingerprint.clone());
        Self {
            fingerprint,
            checks,
            metrics,
        }
    }

    /// Serves until `closing`.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        drain: Drain,
        closing: CancellationToken,
    ) {
        let router = self.router(drain);
        let served = axum::serve(listener, router)
            .with_graceful_shutdown(closing.cancelled_owned())
            .await;
        if let Err(error) = served {
            tracing::error!(%error, "the HTTP side ended: health and metrics are not to be had");
        }
    }

    fn router(self, drain: Drain) -> Router {
        let metrics = self.metrics.clone();
        let ready = Arc::new(self);
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route(
                "/metrics",
                get(move || std::future::ready(metrics.render())),
            )
            .route(
                "/readyz",
                get(move || {
                    let (ready, drain) = (Arc::clone(&ready), drain.clone());
                    async move { ready.readiness(&drain).await }
                }),
            )
    }

    /// One line for the whole and one for each part.
    async fn readiness(&self, drain: &Drain) -> (StatusCode, String) {
        let mut lines = vec![format!("config: {}", (self.fingerprint)())];
        let mut ready = !drain.is_started();
        if !ready {
            lines.push("server: stopping".to_owned());
        }
        for check in &self.checks {
            let told = match check.check().await {
                Ok(()) => "ok".to_owned(),
                Err(why) => {
                    ready = false;
                    why
                },
            };
            lines.push(format!("{}: {told}", check.name()));
        }
        let (status, word) = if ready {
            (StatusCode::OK, "ready")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready")
        };
        (status, format!("{word}\n{}\n", lines.join("\n")))
    }
}
