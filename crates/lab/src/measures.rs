//! Measures by name: what tables, files and other programs see of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ackwise_cause::Cause;
use ackwise_sim::{
    Measures, Scenario,
    measure::{
        ApplicationMeasures, DirectionMeasures, FilledSegments, HostMeasures, ProxyMeasures, Work,
    },
    scenario::ApplicationKind,
    table::TableMeasures,
};

/// All numbers of a run by name. What a run could not measure (the mean of no documents) is not there.
#[must_use]
pub fn flatten(measures: &Measures) -> BTreeMap<String, f64> {
    let Measures { applications, links, hosts, causes, segments, measured, work } = measures;
    let mut flat = Flat::default();
    for (name, application) in applications {
        flat.application(name, application);
    }
    for (name, [there, back]) in links {
        flat.direction(&format!("link.{name}"), there);
        flat.direction(&format!("link.{name}.back"), back);
    }
    for (name, host) in hosts {
        flat.host(name, host);
    }
    for (cause, time) in causes {
        flat.put(&format!("cause.{}", cause.name()), "_ms", millis(*time));
    }
    flat.segments(segments);
    flat.work(work, *measured);
    flat.0
}

/// The names of all measures that a run of `scenario` may have, those of applications first.
#[must_use]
pub fn names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |prefix: &str, measures: &[&str]| {
        names.extend(measures.iter().map(|measure| format!("{prefix}{measure}")));
    };
    for application in &scenario.applications {
        add(&format!("{}.", application.name), APPLICATION);
        if let ApplicationKind::Proxy(_) = application.kind {
            add(&format!("{}.", application.name), PROXY);
        }
    }
    for link in &scenario.links {
        add(&format!("link.{}.", link.name), DIRECTION);
        add(&format!("link.{}.back.", link.name), DIRECTION);
    }
    for node in scenario.nodes.iter().filter(|node| node.tcp.is_some()) {
        add(&format!("host.{}.", node.name), HOST);
        if node.table.is_some() {
            add(&format!("host.{}.", node.name), TABLE);
        }
    }
    for cause in Cause::ALL {
        add(&format!("cause.{}", cause.name()), &["_ms"]);
    }
    add("segments.", SEGMENTS);
    add("", &["filled_pct"]);
    add("work.", WORK);
    // Applications that share a name are measured together.
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Whether a name fits a pattern, in which each `*` stands for any number of characters.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            left.char_indices()
                .map(|(at, _)| at)
                .chain([left.len()])
                .any(|at| matches(rest, &left[at..]))
        }),
    }
}

const APPLICATION: &[&str] = &[
    "documents",
    "files",
    "bytes",
    "rate_mean",
    "rate_sum",
    "goodput",
    "page_time_mean_ms",
    "page_time_p50_ms",
    "page_time_p90_ms",
    "page_time_p99_ms",
    "connections_opened",
    "connections_failed",
    "requests_repeated",
];
const PROXY: &[&str] = &[
    "bytes_to_clients",
    "bytes_from_servers",
    "bytes_both",
    "requests",
    "rejected",
    "unfinished",
    "refused",
    "misses_refused",
    "misses_waiting",
    "closed_for_new",
    "closed_before_halving",
    "closed_by_timeout",
    "halved_pct",
    "open_mean",
    "idle_pct",
    "full_pct",
    "full_idle_pct",
    "full_mostly_idle_pct",
    "most_open",
    "most_buffer_memory",
    "short_divisions_pct",
];
const DIRECTION: &[&str] =
    &["offered", "dropped", "bytes", "utilization_pct", "drop_pct", "most_queued"];
const HOST: &[&str] = &["connections_opened", "most_open", "most_time_wait"];
const TABLE: &[&str] = &["lookups", "examined", "refused", "mean_memory", "most_memory"];
const SEGMENTS: &[&str] = &["all", "full"];
const WORK: &[&str] = &["events", "packet_hops", "most_connections", "measured_s"];

#[derive(Default)]
struct Flat(BTreeMap<String, f64>);

impl Flat {
    fn put(&mut self, prefix: &str, name: &str, value: impl Into<Option<f64>>) {
        // What is not finite is no measure, and JSON has no word for it.
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.0.insert(format!("{prefix}{name}"), value);
        }
    }

    fn application(&mut self, name: &str, measures: &ApplicationMeasures) {
        let ApplicationMeasures {
            documents,
            files,
            bytes,
            rate_mean,
            rate_sum,
            goodput,
            times: _,
            connections_opened,
            connections_failed,
            requests_repeated,
            missing: _,
            proxy,
        } = measures;
        let prefix = format!("{name}.");
        let time = |fraction| measures.percentile(fraction).map(millis);
        self.put(&prefix, "documents", count(*documents));
        self.put(&prefix, "files", count(*files));
        self.put(&prefix, "bytes", count(*bytes));
        self.put(&prefix, "rate_mean", *rate_mean);
        self.put(&prefix, "rate_sum", *rate_sum);
        self.put(&prefix, "goodput", *goodput);
        self.put(&prefix, "page_time_mean_ms", measures.mean_time().map(millis));
        self.put(&prefix, "page_time_p50_ms", time(0.5));
        self.put(&prefix, "page_time_p90_ms", time(0.9));
        self.put(&prefix, "page_time_p99_ms", time(0.99));
        self.put(&prefix, "connections_opened", count(*connections_opened));
        self.put(&prefix, "connections_failed", count(*connections_failed));
        self.put(&prefix, "requests_repeated", count(*requests_repeated));
        if let Some(proxy) = proxy {
            self.proxy(&prefix, proxy);
        }
    }

    fn proxy(&mut self, prefix: &str, measures: &ProxyMeasures) {
        let ProxyMeasures {
            bytes_to_clients,
            bytes_from_servers,
            responses: _,
            requests,
            rejected,
            unfinished,
            refused,
            misses_refused,
            misses_waiting,
            closed_for_new,
            closed_before_halving,
            closed_by_timeout,
            idle_spells,
            halved_spells,
            samples,
            open,
            idle,
            full_samples,
            full_open,
            full_idle,
            full_mostly_idle,
            most_open,
            most_assigned,
            divisions,
            short_divisions,
        } = measures;
        let share = |part: u64, of: u64| (of > 0).then(|| 100.0 * count(part) / count(of));
        let both = bytes_to_clients + bytes_from_servers;
        self.put(prefix, "bytes_to_clients", count(*bytes_to_clients));
        self.put(prefix, "bytes_from_servers", count(*bytes_from_servers));
        self.put(prefix, "bytes_both", count(both));
        self.put(prefix, "requests", count(*requests));
        self.put(prefix, "rejected", count(*rejected));
        self.put(prefix, "unfinished", count(unfinished.len() as u64));
        self.put(prefix, "refused", count(*refused));
        self.put(prefix, "misses_refused", count(*misses_refused));
        self.put(prefix, "misses_waiting", count(*misses_waiting));
        self.put(prefix, "closed_for_new", count(*closed_for_new));
        self.put(prefix, "closed_before_halving", count(*closed_before_halving));
        self.put(prefix, "closed_by_timeout", count(*closed_by_timeout));
        self.put(prefix, "halved_pct", share(*halved_spells, *idle_spells));
        self.put(prefix, "open_mean", share(open[0] + open[1], *samples).map(|it| it / 100.0));
        self.put(prefix, "idle_pct", share(idle[0] + idle[1], open[0] + open[1]));
        self.put(prefix, "full_pct", share(*full_samples, *samples));
        self.put(prefix, "full_idle_pct", share(*full_idle, *full_open));
        self.put(prefix, "full_mostly_idle_pct", share(*full_mostly_idle, *full_samples));
        self.put(prefix, "most_open", count(*most_open));
        self.put(prefix, "most_buffer_memory", count(*most_assigned));
        self.put(prefix, "short_divisions_pct", share(*short_divisions, *divisions));
    }

    fn direction(&mut self, prefix: &str, measures: &DirectionMeasures) {
        let DirectionMeasures {
            offered,
            dropped,
            too_large,
            flow_forgotten,
            bytes,
            utilization,
            drop_rate,
            most_queued,
        } = *measures;
        self.put(prefix, ".offered", count(offered));
        self.put(prefix, ".dropped", count(dropped));
        self.put(prefix, ".too_large", too_large.map(count));
        self.put(prefix, ".flow_forgotten", flow_forgotten.map(count));
        self.put(prefix, ".bytes", count(bytes));
        self.put(prefix, ".utilization_pct", utilization.map(|share| share * 100.0));
        self.put(prefix, ".drop_pct", drop_rate * 100.0);
        self.put(prefix, ".most_queued", count(most_queued));
    }

    fn host(&mut self, name: &str, measures: &HostMeasures) {
        let HostMeasures { connections_opened, most_open, most_time_wait, table } = *measures;
        let prefix = format!("host.{name}.");
        self.put(&prefix, "connections_opened", count(connections_opened));
        self.put(&prefix, "most_open", count(most_open));
        self.put(&prefix, "most_time_wait", count(most_time_wait));
        let Some(table) = table else { return };
        let TableMeasures { lookups, examined, refused, mean_memory, most_memory } = table;
        self.put(&prefix, "lookups", count(lookups));
        self.put(&prefix, "examined", count(examined));
        self.put(&prefix, "refused", count(refused));
        self.put(&prefix, "mean_memory", count(mean_memory));
        self.put(&prefix, "most_memory", count(most_memory));
    }

    fn segments(&mut self, segments: &FilledSegments) {
        let FilledSegments { all, full } = *segments;
        self.put("segments.", "all", count(all));
        self.put("segments.", "full", count(full));
        self.put("", "filled_pct", (all > 0).then(|| 100.0 * count(full) / count(all)));
    }

    fn work(&mut self, work: &Work, measured: Duration) {
        // The trace's hash is not a number to calculate with: a row has it beside its measures.
        let Work { events, packet_hops, most_connections, trace_hash: _ } = *work;
        self.put("work.", "events", count(events));
        self.put("work.", "packet_hops", count(packet_hops));
        self.put("work.", "most_connections", count(most_connections));
        self.put("work.", "measured_s", measured.as_secs_f64());
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are below 2^53")]
const fn count(number: u64) -> f64 {
    number as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expected) in [
            ("web.rate", "web.rate", true),
            ("web.rate", "web.rates", false),
            ("web.*", "web.rate", true),
            ("*", "", true),
            ("host.s*.most_open", "host.s12.most_open", true),
            ("host.s*.most_open", "host.s12.most_time_wait", false),
            ("*_pct", "link.a.back.drop_pct", true),
            ("a*b*c", "aXbXbc", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }
}
