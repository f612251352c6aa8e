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
use proofport_egress::ConnectionFigures;
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
        gauge(
            e,
            "disk_short",
            "1 while the disk is so full that nothing new is taken on",
            usize::from(short),
        )?;
        spans(e, &counted)?;
        self.commits(e)?;
        self.connections(e)?;
        self.sandbox(e)
    }
}

impl Counters {
    fn commits(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let commits = self.0.broker().journal().commit_figures();
        let help = "Commits of the journal, by how many batches of events shared one";
        histogram(e, "commit_batches", help, &commits.groups, 1.0, commits.batches as f64)?;
        let help = "How long commits of the journal took, in seconds";
        histogram(e, "commit_duration_seconds", help, &commits.durations, 1e6, commits.micros as f64 / 1e6)
    }

    fn connections(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let broker = self.0.broker();
        let (http, ssh) = (broker.http_connections(), broker.ssh_connections());
        let both = |of: fn(&ConnectionFigures) -> u64| [("http", of(&http)), ("ssh", of(&ssh))].into_iter();
        let help = "Connections that were set up, the peer verified";
        counters(e, "connections_opened", help, "protocol", both(|figures| figures.opened))?;
        let help = "Connections that were set up and are closed again";
        counters(e, "connections_closed", help, "protocol", both(|figures| figures.closed))?;
        let help = "Connections that are open, in use or kept";
        gauges(e, "connections_open", help, "protocol", both(ConnectionFigures::open))?;
        counter(e, "connections_reused", "Kept connections that were handed out again", http.reused)?;
        number(e, "connections_idle", "Connections that are kept and not in use", http.idle)
    }

    fn sandbox(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.0.sandbox_figures();
        number(e, "connector_instances", "Instances of connectors that run right now", figures.running())?;
        let sources = [("compiler", figures.compiled()), ("cache", figures.from_cache())];
        let help = "Modules of connectors that were loaded, by where their code came from";
        counters(e, "connector_modules", help, "source", sources.into_iter())
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

fn gauges<'l>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    counts: impl Iterator<Item = (&'l str, u64)>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (value, count) in counts {
        let labels = [(label, value)];
        ConstGauge::new(signed(count)).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, count: usize) -> fmt::Result {
    number(encoder, name, help, u64::try_from(count).unwrap_or(u64::MAX))
}

fn number(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, count: u64) -> fmt::Result {
    let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(signed(count)).encode(metric)
}

fn spans(e: &mut DescriptorEncoder<'_>, counted: &proofport_broker::Counted) -> fmt::Result {
    counter(e, "spans_exported", "Spans of traces that their collector took", counted.spans_exported)?;
    counter(e, "spans_dropped", "Spans of traces that no collector took", counted.spans_dropped)?;
    let help = "Answers, commits and steps that no span was made of";
    counter(e, "span_notes_dropped", help, counted.notes_dropped)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn durations(encoder: &mut DescriptorEncoder<'_>, counted: &proofport_broker::Counted) -> fmt::Result {
    let help = "How long calls took, from their arrival to their answer, in seconds";
    let seconds = counted.duration_micros as f64 / 1e6;
    histogram(encoder, "call_duration_seconds", help, &counted.durations, 1e3, seconds)
}

/// A histogram. `counts` are per bucket, each with its upper bound, of which `unit` make one of the metric's.
fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    counts: &[(Option<u64>, u64)],
    unit: f64,
    sum: f64,
) -> fmt::Result {
    let mut metric: MetricEncoder<'_> = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    let bound = |most: Option<u64>| most.map_or(f64::INFINITY, |most| most as f64 / unit);
    let buckets: Vec<(f64, u64)> = counts.iter().map(|(most, count)| (bound(*most), *count)).collect();
    let total = counts.iter().map(|(_, count)| count).sum();
    metric.encode_histogram::<NoLabelSet>(sum, total, &buckets, None)
}
