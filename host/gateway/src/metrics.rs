//! What a host counts, in the text form that Prometheus reads. Labels come from closed sets only: no
//! connection, target, caller or id is ever one.

use crate::host::Host;
use axum::Router;
use axum::routing::get;
use http::header::CONTENT_TYPE;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use proofport_journal::Room;
use std::fmt;
use std::sync::Arc;

/// Where a host that serves shows them.
const PATH: &str = "/metrics";

/// The media type of [`text`].
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that is counted, as it is now.
#[must_use]
pub fn text(host: &Arc<Host>) -> String {
    let mut registry = Registry::with_prefix("proofport");
    registry.register_collector(Box::new(Counters(Arc::clone(host))));
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => text,
        // A text in memory takes everything that is written to it.
        Err(fmt::Error) => String::new(),
    }
}

/// What serves them to whoever can reach the host: they tell nothing of anybody.
pub fn route(host: Arc<Host>) -> Router {
    Router::new().route(PATH, get(async move || ([(CONTENT_TYPE, MEDIA_TYPE)], text(&host))))
}

struct Counters(Arc<Host>);

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counters")
    }
}

impl Collector for Counters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let broker = self.0.broker();
        let counted = broker.figures().counted();
        let e = &mut encoder;
        let labelled = |(value, count): (&'static str, u64)| (value, count);
        let events = counted.events.iter().map(|(kind, count)| labelled((kind.as_str(), *count)));
        counters(e, "events", "Events put on record, by kind", "kind", events)?;
        let phases = counted.phases.iter().map(|(phase, count)| (phase.as_str(), *count));
        counters(
            e,
            "answers_by_phase",
            "Answers to calls, by where the invocation stopped or stands",
            "phase",
            phases,
        )?;
        let outcomes = counted.outcomes.iter().map(|(outcome, count)| (outcome.as_str(), *count));
        counters(
            e,
            "answers_by_outcome",
            "Answers to calls, by what is proved of the remote",
            "outcome",
            outcomes,
        )?;
        let codes =
            counted.codes.iter().map(|(code, count)| (code.map_or("OK", |code| code.as_str()), *count));
        counters(e, "answers_by_code", "Answers to calls, by code", "code", codes)?;
        counter(
            e,
            "answers_repeated",
            "Answers that repeated an earlier call's and sent nothing",
            counted.repeated,
        )?;
        durations(e, &counted)?;
        counter(e, "connector_steps", "Steps that connectors took", counted.connector_steps)?;
        counter(
            e,
            "connector_faults",
            "Steps of connectors that ended in a fault",
            counted.connector_faults,
        )?;
        counter(e, "connector_fuel", "Fuel that connectors used", counted.connector_fuel)?;
        let micros = "Time inside connectors, in microseconds";
        counter(e, "connector_microseconds", micros, counted.connector_micros)?;
        gauge(e, "invocations_under_way", "Invocations that are being carried out", broker.under_way())?;
        gauge(e, "approvals_waiting", "Questions that wait for an operator", broker.count_approvals())?;
        gauge(e, "vault_locked", "1 while the vault is locked", usize::from(broker.is_locked()))?;
        let short = broker.journal().room() == Room::Short;
        gauge(e, "disk_short", "1 while the disk is so full that nothing new is taken on", usize::from(short))
    }
}

fn counters<'l>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    counts: impl Iterator<Item = (&'l str, u64)>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (value, count) in counts {
        let labels = [(label, value)];
        ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, count: u64) -> fmt::Result {
    ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, count: usize) -> fmt::Result {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    ConstGauge::new(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn durations(encoder: &mut DescriptorEncoder<'_>, counted: &proofport_broker::Counted) -> fmt::Result {
    let help = "How long calls took, from their arrival to their answer, in seconds";
    let mut metric: MetricEncoder<'_> =
        encoder.encode_descriptor("call_duration_seconds", help, None, MetricType::Histogram)?;
    let seconds = |millis: u64| millis as f64 / 1000.0;
    let bounds = counted.durations.iter();
    let buckets: Vec<(f64, u64)> =
        bounds.map(|(most, count)| (most.map_or(f64::INFINITY, seconds), *count)).collect();
    let total = counted.durations.iter().map(|(_, count)| count).sum();
    metric.encode_histogram::<NoLabelSet>(counted.duration_micros as f64 / 1e6, total, &buckets, None)
}
