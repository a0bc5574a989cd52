//! Trace context in metadata, in the form that telemetry set up for the process (W3C).

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::{Context, global};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The context that the headers name as parent; an empty one where they name none.
pub fn extract(headers: &HeaderMap) -> Context {
    let headers = Reader(headers);
    global::get_text_map_propagator(|form| form.extract_with_context(&Context::new(), &headers))
}

/// Names the span of the present as parent of what is called with `headers`. Where no tracer
/// listens nothing is written.
pub fn inject(headers: &mut HeaderMap) {
    let context = Span::current().context();
    global::get_text_map_propagator(|form| form.inject_context(&context, &mut Writer(headers)));
}

/// The span of the present as text (`traceparent`), to be kept with work that goes on later; `None`
/// where no tracer listens.
pub fn keep() -> Option<String> {
    let mut headers = HeaderMap::new();
    inject(&mut headers);
    headers.get("traceparent")?.to_str().ok().map(str::to_owned)
}

/// Makes a kept span the parent of `span`, which must not have been entered.
pub fn resume(span: &Span, kept: &str) {
    let Ok(value) = HeaderValue::try_from(kept) else {
        return;
    };
    let headers = HeaderMap::from_iter([(HeaderName::from_static("traceparent"), value)]);
    // Fails where no tracer listens; then nobody asks for the parent.
    drop(span.set_parent(extract(&headers)));
}

struct Reader<'a>(&'a HeaderMap);

impl Extractor for Reader<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

struct Writer<'a>(&'a mut HeaderMap);

impl Injector for Writer<'_> {
    fn set(&mut self, key: &str, value: String) {
        // A propagator writes names and values that headers can hold; others are left out.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}
