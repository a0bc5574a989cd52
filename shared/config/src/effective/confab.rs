//! Section `confab`.

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{Report, address, texts};
use crate::settings::{Auth, DeliverySettings, RunSettings, Settings, Sink, Storage};

pub(super) fn tell(report: &mut Report<'_>, settings: &Settings) {
    report.put(
        "confab.storage.url",
        settings.storage.as_ref().map(written_storage),
    );
    let mode = match &settings.auth {
        Auth::Open => "open",
        Auth::Jwt { .. } => "jwt",
    };
    report.put("confab.auth.mode", mode);
    tell_runs(report, &settings.runs);
    tell_deliveries(report, &settings.deliveries);
    let collector = settings.telemetry.otlp_endpoint.as_deref();
    report.put(
        "confab.telemetry.otlpEndpoint",
        collector.map(address::server),
    );
    let models = settings.models.as_deref();
    report.put(
        "confab.models",
        models.map(|names| texts(names.iter().map(String::as_str))),
    );
}

fn written_storage(storage: &Storage) -> String {
    match storage {
        Storage::Sqlite { directory } => format!("sqlite://{}", directory.display()),
        Storage::Postgres { url } => address::database(url.expose_secret()),
    }
}

fn tell_runs(report: &mut Report<'_>, runs: &RunSettings) {
    let numbers = [
        ("leaseSeconds", runs.lease_seconds),
        ("heartbeatSeconds", runs.heartbeat_seconds),
        ("queueMaxPerSession", runs.queue_per_session_max),
        ("queueAgeSeconds", runs.queue_age_seconds),
        ("maxAttempts", runs.attempts_max),
    ];
    for (name, number) in numbers {
        report.put(format!("confab.runs.{name}"), number);
    }
}

fn tell_deliveries(report: &mut Report<'_>, deliveries: &DeliverySettings) {
    let sinks: Vec<Value> = deliveries.sinks.iter().map(written_sink).collect();
    report.put("confab.deliveries.sinks", sinks);
    report.put(
        "confab.deliveries.retryDelaysSeconds",
        deliveries.retry_delays_seconds.as_slice(),
    );
    report.put(
        "confab.deliveries.maxAgeSeconds",
        deliveries.max_age_seconds,
    );
}

/// Without the address of a webhook, which may hold a secret.
fn written_sink(sink: &Sink) -> Value {
    json!({ "channel": sink.channel.to_string(), "type": sink.kind.as_str() })
}
