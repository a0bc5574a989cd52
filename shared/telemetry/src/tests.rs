//! Metrics show what was recorded, and what is left leaves at the end.

use std::net::SocketAddr;

use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::*;

fn options(otlp_endpoint: Option<String>) -> TelemetryOptions {
    TelemetryOptions {
        service_name: "confab-test".to_owned(),
        otlp_endpoint,
        log_filter: "info".to_owned(),
    }
}

/// A collector that passes on the names of what it gets.
#[derive(Clone, Debug)]
struct Collector {
    spans: mpsc::UnboundedSender<String>,
    metrics: mpsc::UnboundedSender<String>,
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans;
        for span in resources
            .into_iter()
            .flat_map(|r| r.scope_spans)
            .flat_map(|s| s.spans)
        {
            self.spans.send(span.name).unwrap();
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let resources = request.into_inner().resource_metrics;
        for metric in resources
            .into_iter()
            .flat_map(|r| r.scope_metrics)
            .flat_map(|s| s.metrics)
        {
            self.metrics.send(metric.name).unwrap();
        }
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// Serves until the set is dropped.
async fn serve(collector: Collector) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder()
        .add_service(TraceServiceServer::new(collector.clone()))
        .add_service(MetricsServiceServer::new(collector))
        .serve_with_incoming(TcpListenerStream::new(listener));
    let mut servers = JoinSet::new();
    servers.spawn(async { server.await.unwrap() });
    (address, servers)
}

#[test]
fn a_recorded_counter_and_histogram_are_shown() {
    let metrics = Metrics::unexported().unwrap();
    let meter = metrics.meter("confab.rpc");
    let counter = meter.u64_counter("rpc.server.requests").build();
    counter.add(2, &[KeyValue::new("method", "GetSession")]);
    counter.add(1, &[KeyValue::new("method", "GetSession")]);
    let histogram = meter
        .f64_histogram("rpc.server.duration")
        .with_unit("s")
        .with_boundaries(DURATION_SECONDS_BOUNDARIES.to_vec())
        .build();
    histogram.record(0.003, &[]);
    let text = metrics.render();
    let line = text
        .lines()
        .find(|line| line.starts_with("rpc_server_requests_total{"))
        .unwrap();
    assert!(
        line.contains(r#"method="GetSession""#) && line.ends_with(" 3"),
        "{line}"
    );
    let bucket = |bound: &str| {
        text.lines().any(|line| {
            line.starts_with("rpc_server_duration_seconds_bucket")
                && line.contains(&format!(r#"le="{bound}"}} "#))
                && line.ends_with(" 1")
        })
    };
    assert!(bucket("0.005") && !bucket("0.0025"), "{text}");
}

#[test]
fn two_sets_of_metrics_do_not_mix() {
    let (one, other) = (
        Metrics::unexported().unwrap(),
        Metrics::unexported().unwrap(),
    );
    one.meter("confab")
        .u64_counter("only.here")
        .build()
        .add(1, &[]);
    assert!(one.render().contains("only_here_total"));
    assert!(!other.render().contains("only_here_total"));
}

#[test]
fn a_filter_that_cannot_be_read_is_named() {
    let mut wrong = options(None);
    wrong.log_filter = "confab=loud".to_owned();
    let error = init(wrong).unwrap_err();
    assert!(error.to_string().contains("confab=loud"), "{error}");
}

#[test]
fn export_outside_a_runtime_is_refused() {
    let error = init(options(Some("http://127.0.0.1:4317".to_owned()))).unwrap_err();
    assert!(matches!(error, Error::NoRuntime), "{error:?}");
}

#[tokio::test]
async fn what_is_left_is_exported_at_the_end_and_a_second_start_does_not_panic() {
    let (spans, mut span_names) = mpsc::unbounded_channel();
    let (metrics, mut metric_names) = mpsc::unbounded_channel();
    let (address, _servers) = serve(Collector { spans, metrics }).await;
    let telemetry = init(options(Some(format!("http://{address}")))).unwrap();
    let second = init(options(None)).unwrap();
    tracing::info_span!("one turn").in_scope(|| tracing::info!("inside"));
    telemetry
        .metrics()
        .meter("confab")
        .u64_counter("turns")
        .build()
        .add(1, &[]);
    second.shutdown().await;
    telemetry.shutdown().await;
    assert_eq!(span_names.recv().await.as_deref(), Some("one turn"));
    assert_eq!(metric_names.recv().await.as_deref(), Some("turns"));
}
