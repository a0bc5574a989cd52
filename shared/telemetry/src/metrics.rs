//! Metrics: recorded through meters, shown to Prometheus, exported to a collector.

use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_otlp::{MetricExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::{Registry, TextEncoder};

use crate::Error;

/// Bounds for histograms of durations in seconds: from half a millisecond, a call in one process,
/// to a minute, a long wait.
pub const DURATION_SECONDS_BOUNDARIES: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];

/// A handle on the metrics of one [`crate::Telemetry`]; clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    provider: SdkMeterProvider,
    registry: Registry,
}

impl Metrics {
    /// Metrics of their own that are exported nowhere, for servers inside tests.
    ///
    /// # Errors
    /// When they cannot be collected.
    pub fn unexported() -> Result<Self, Error> {
        Self::new(Resource::builder().build(), None)
    }

    pub(crate) fn new(resource: Resource, endpoint: Option<&str>) -> Result<Self, Error> {
        let registry = Registry::new();
        let reader = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .build()
            .map_err(Error::Metrics)?;
        let mut provider = SdkMeterProvider::builder()
            .with_resource(resource)
            .with_reader(reader);
        if let Some(endpoint) = endpoint {
            let exporter = MetricExporter::builder()
                .with_tonic()
                .with_endpoint(endpoint)
                .build();
            let exporter = exporter.map_err(|source| Error::Exporter {
                endpoint: endpoint.to_owned(),
                source,
            })?;
            provider = provider.with_periodic_exporter(exporter);
        }
        Ok(Self {
            provider: provider.build(),
            registry,
        })
    }

    /// What makes instruments; `scope` names the code that measures, for example `confab.rpc`.
    pub fn meter(&self, scope: &'static str) -> Meter {
        self.provider.meter(scope)
    }

    /// Every metric in the text form of Prometheus.
    pub fn render(&self) -> String {
        match TextEncoder::new().encode_to_string(&self.registry.gather()) {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "metrics cannot be shown");
                String::new()
            },
        }
    }

    pub(crate) fn shutdown(&self) -> OTelSdkResult {
        self.provider.shutdown()
    }
}
