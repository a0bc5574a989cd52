//! Traces: one context over every hop, exported where a collector is named.

use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

use crate::Error;

/// The scope under which spans are recorded.
const SCOPE: &str = "confab";

/// Where spans go. Without a collector nothing is recorded, but a caller's trace is still carried on
/// to the next service.
pub(crate) fn provider(
    resource: Resource,
    endpoint: Option<&str>,
) -> Result<SdkTracerProvider, Error> {
    let provider = SdkTracerProvider::builder().with_resource(resource);
    let Some(endpoint) = endpoint else {
        let sampler = Sampler::ParentBased(Box::new(Sampler::AlwaysOff));
        return Ok(provider.with_sampler(sampler).build());
    };
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .build()
        .map_err(|source| Error::Exporter {
            endpoint: endpoint.to_owned(),
            source,
        })?;
    let sampler = Sampler::ParentBased(Box::new(Sampler::AlwaysOn));
    Ok(provider
        .with_sampler(sampler)
        .with_batch_exporter(exporter)
        .build())
}

/// Makes `traceparent` and `tracestate` (W3C) the form in which contexts travel.
pub(crate) fn propagate() {
    global::set_text_map_propagator(TraceContextPropagator::new());
}

/// Turns the spans of `tracing` into spans of a trace.
pub(crate) fn layer<S>(provider: &SdkTracerProvider) -> OpenTelemetryLayer<S, SdkTracer>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    tracing_opentelemetry::layer().with_tracer(provider.tracer(SCOPE))
}
