//! One layer that tells what happens: a span for each call, and its rate, errors and duration.
//!
//! The trace of the caller goes on: its `traceparent` is the parent of the span, and
//! [`trace_context::inject`] hands the span on to the next service. Message text is never recorded.

mod counted;
pub mod trace_context;

use std::future::Future;

use confab_telemetry::DURATION_SECONDS_BOUNDARIES;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use tokio::time::Instant;
use tonic::Code;
use tonic::body::Body;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::layer::{Around, Inner, Next};
use crate::roles::{Verdict, verdict};
use counted::Counted;

/// Watches calls; clones count together.
#[derive(Clone, Debug)]
pub struct Observe {
    requests: Counter<u64>,
    duration: Histogram<f64>,
    active: UpDownCounter<i64>,
}

impl Observe {
    /// Counts with `meter`.
    pub fn new(meter: &Meter) -> Self {
        Self {
            requests: meter
                .u64_counter("confab.rpc.server.requests")
                .with_description("Calls that ended, by method and code")
                .build(),
            duration: meter
                .f64_histogram("confab.rpc.server.duration")
                .with_description("How long calls took, streams to their end")
                .with_unit("s")
                .with_boundaries(DURATION_SECONDS_BOUNDARIES.to_vec())
                .build(),
            active: meter
                .i64_up_down_counter("confab.rpc.server.active")
                .with_description("Calls that run")
                .build(),
        }
    }
}

impl Around for Observe {
    fn around<S: Inner>(
        &self,
        request: Request<Body>,
        next: Next<S>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        let method = Method::of(request.uri().path());
        let span = method.span();
        // Fails where no tracer listens; then nobody asks for the parent.
        drop(span.set_parent(trace_context::extract(request.headers())));
        let ending = Ending::begin(self.clone(), &method, span.clone());
        async move {
            let response = next.run(request).await;
            response_watched(response, ending)
        }
        .instrument(span)
    }
}

fn response_watched(response: Response<Body>, mut ending: Ending) -> Response<Body> {
    ending.read(response.headers());
    response.map(|body| Body::new(Counted::new(body, ending)))
}

/// The two parts of a method's name. One that the role table does not know counts as `unknown`, so
/// that a caller cannot make up numbers without end.
struct Method {
    service: String,
    name: String,
}

impl Method {
    fn of(path: &str) -> Self {
        let known = verdict(path) != Verdict::Unlisted;
        let parts = path
            .trim_start_matches('/')
            .split_once('/')
            .filter(|_| known);
        let (service, name) = parts.unwrap_or(("unknown", "unknown"));
        Self {
            service: service.to_owned(),
            name: name.to_owned(),
        }
    }

    fn span(&self) -> Span {
        tracing::info_span!(
            "rpc",
            otel.name = format!("{}/{}", self.service, self.name),
            otel.kind = "server",
            rpc.system = "grpc",
            rpc.service = self.service,
            rpc.method = self.name,
            rpc.code = Empty,
            caller.role = Empty,
            caller.tenant = Empty,
        )
    }
}

/// Counts a call when it is dropped: when its answer is read to the end, or nobody wants it.
struct Ending {
    observe: Observe,
    method: [KeyValue; 2],
    span: Span,
    started: Instant,
    code: Option<Code>,
}

impl Ending {
    fn begin(observe: Observe, method: &Method, span: Span) -> Self {
        let method = [
            KeyValue::new("rpc.service", method.service.clone()),
            KeyValue::new("rpc.method", method.name.clone()),
        ];
        observe.active.add(1, &method);
        Self {
            observe,
            method,
            span,
            started: Instant::now(),
            code: None,
        }
    }

    /// Reads the code from headers or trailers that carry one.
    fn read(&mut self, headers: &http::HeaderMap) {
        if let Some(code) = headers.get("grpc-status") {
            self.code = Some(Code::from_bytes(code.as_bytes()));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let code = code_word(self.code.unwrap_or(Code::Cancelled));
        self.span.record("rpc.code", code);
        let [service, method] = self.method.clone();
        let labels = [service, method, KeyValue::new("rpc.code", code)];
        self.observe.requests.add(1, &labels);
        self.observe
            .duration
            .record(self.started.elapsed().as_secs_f64(), &labels);
        self.observe.active.add(-1, &self.method);
    }
}

const fn code_word(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
