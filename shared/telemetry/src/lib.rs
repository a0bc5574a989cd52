//! Tracing, OTLP and metrics initialisation, flushed on exit.
//!
//! One [`Telemetry`] is made at the start of a process and shut down at its end. Logs go to standard
//! error, because standard output belongs to the commands. This crate must never see the text of a
//! message, and must never decide what is measured: whoever measures asks [`Metrics`] for a meter.

mod metrics;
mod traces;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};

use opentelemetry_otlp::ExporterBuildError;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

pub use self::metrics::{DURATION_SECONDS_BOUNDARIES, Metrics};

/// How a process wants to be observed.
#[derive(Clone, Debug)]
pub struct TelemetryOptions {
    /// The process as observers name it, for example `confab-registry`.
    pub service_name: String,
    /// The gRPC address of an OTLP collector, `http://HOST:PORT`; absent = nothing is exported.
    pub otlp_endpoint: Option<String>,
    /// What is logged and traced, in the form of `RUST_LOG`, for example `info,confab_runner=debug`.
    pub log_filter: String,
}

/// Why observation cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter cannot be read.
    #[error("log filter {filter:?} is not understood; allowed: level, or target=level, by comma")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// Export needs a runtime, and there is none here.
    #[error("traces and metrics can be exported from within a tokio runtime only")]
    NoRuntime,
    /// The exporter cannot be built.
    #[error("cannot export to {endpoint}")]
    Exporter {
        /// The collector.
        endpoint: String,
        /// What is wrong with it.
        source: ExporterBuildError,
    },
    /// Metrics cannot be collected.
    #[error("cannot collect metrics")]
    Metrics(#[source] OTelSdkError),
}

/// Observation of one process.
#[derive(Debug)]
pub struct Telemetry {
    metrics: Metrics,
    tracer_provider: SdkTracerProvider,
}

/// Begins to observe this process: logs to standard error, metrics for [`Metrics::render`], and
/// traces and metrics to a collector where one is named.
///
/// Logs and traces belong to the process: a second call in one process leaves those of the first
/// in place and has metrics of its own. Must run inside the runtime when a collector is named.
///
/// # Errors
/// When the filter or the collector's address cannot be read, or without a runtime.
pub fn init(options: TelemetryOptions) -> Result<Telemetry, Error> {
    let filter = EnvFilter::try_new(&options.log_filter).map_err(|source| Error::Filter {
        filter: options.log_filter.clone(),
        source,
    })?;
    let resource = Resource::builder()
        .with_service_name(options.service_name)
        .build();
    let endpoint = options.otlp_endpoint.as_deref();
    if endpoint.is_some() && tokio::runtime::Handle::try_current().is_err() {
        return Err(Error::NoRuntime);
    }
    let metrics = Metrics::new(resource.clone(), endpoint)?;
    let tracer_provider = traces::provider(resource, endpoint)?;
    traces::propagate();
    let subscriber = tracing_subscriber::registry()
        .with(filter)
        .with(log_layer())
        .with(traces::layer(&tracer_provider));
    if subscriber.try_init().is_err() {
        tracing::debug!("logs and traces are already set up in this process");
    }
    Ok(Telemetry {
        metrics,
        tracer_provider,
    })
}

impl Telemetry {
    /// A handle on the metrics, to measure and to show.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Every metric in the text form of Prometheus, for `/metrics`.
    pub fn render_metrics(&self) -> String {
        self.metrics.render()
    }

    /// Exports what is left and stops. What cannot be exported is logged and given up.
    pub async fn shutdown(self) {
        // The exporters block their thread while the runtime carries their bytes.
        let stopped = tokio::task::spawn_blocking(move || {
            let traces = self.tracer_provider.shutdown();
            (traces, self.metrics.shutdown())
        });
        let (traces, metrics) = match stopped.await {
            Ok(results) => results,
            Err(error) => {
                tracing::warn!(%error, "flushing traces and metrics broke off");
                return;
            },
        };
        if let Err(error) = traces {
            tracing::warn!(%error, "the last traces were not exported");
        }
        if let Err(error) = metrics {
            tracing::warn!(%error, "the last metrics were not exported");
        }
    }
}

/// Log lines on standard error, coloured on a terminal.
fn log_layer<S>() -> impl Layer<S> + Send + Sync
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
}
