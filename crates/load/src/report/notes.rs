//! Restrictions on the results, with advice.

use std::time::Duration;

use ackwise_cause::FailureKind;
use ackwise_net::local_ports;
use ackwise_text::words::{counted, grouped};

use ackwise_tcp::policy::Preset;

use super::LoadReport;
use crate::{
    CloseMode, HeldCount, LoadOptions, StackMode, TimeWait,
    generator::{EndReason, LoadResult},
};

pub(super) fn notes(
    report: &LoadReport,
    options: &LoadOptions,
    loaded: &LoadResult,
) -> Vec<String> {
    let tally = &loaded.tally;
    let mut notes = Vec::new();
    notes.extend(ended(report));
    let copies = |preset: Preset| format!("the clients' TCP copies {}", preset.name());
    notes.extend(options.preset.map(copies));
    notes.extend(unknown("server", &report.time_wait.server));
    notes.extend(unknown("clients", &report.time_wait.client));
    notes.extend(ports(report));
    notes.extend(bottleneck(report));
    notes.extend(lateness(options, loaded));
    notes.extend(reuse(report));
    notes.extend(crossed(report));
    let mut count = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{} {what}", counted(count, "connection")));
        }
    };
    count(
        tally.cut_short(),
        "that the server closed before the last request; the requests left were made on new connections",
    );
    count(tally.dismissed(), "kept until no request was left, and closed by the client");
    count(
        report.not_closed,
        "that the server reset or did not close in time after the last response",
    );
    count(report.unfinished, "still open when the run was stopped, and reset by the client");
    if report.elapsed > TIME_WAIT {
        notes.push(
            "the run took more than 60 s, the duration of TIME-WAIT on Linux, so the \
             connections that closed first are no longer counted"
                .to_owned(),
        );
    }
    if report.stack == StackMode::Ackwise && report.time_wait.client.known() > Some(0) {
        notes.push("the ackwise stack's TIME-WAIT ends when this program exits".to_owned());
    }
    notes
}

fn ended(report: &LoadReport) -> Option<String> {
    match report.ended {
        EndReason::NoPort => {
            let advice = match report.stack {
                StackMode::Kernel => {
                    "use more addresses (--source), more requests per connection, or fewer \
                     connections per second (--rate)"
                }
                StackMode::Ackwise => {
                    "use fewer connections per second (--rate), or more requests per connection"
                }
            };
            Some(format!(
                "stopped after {}: every local port towards {} is in use or in \
                 TIME-WAIT; {advice}",
                counted(report.connections, "connection"),
                report.server
            ))
        }
        EndReason::Stopped => Some("interrupted: the report covers the run so far".to_owned()),
        EndReason::NothingAnswered => Some("stopped early: no request succeeded".to_owned()),
        _ => None,
    }
}

fn unknown(end: &str, held: &HeldCount) -> Option<String> {
    match held {
        HeldCount::Known(_) => None,
        HeldCount::Unknown(why) => {
            Some(format!("could not determine TIME-WAIT at the {end}: {why}"))
        }
    }
}

/// The ports that TIME-WAIT occupies at the clients.
fn ports(report: &LoadReport) -> Option<String> {
    let held = report.time_wait.client.known().filter(|held| *held > 0)?;
    let ports = match report.stack {
        StackMode::Kernel => local_ports().len() as u64,
        StackMode::Ackwise => OUR_PORTS,
    };
    let swap = match report.close {
        CloseMode::Swap => "; a swap moves this cost from the server to its clients",
        _ => "",
    };
    // Ours ends with the program, which another note says.
    let lasting = if report.stack == StackMode::Kernel { " for 60 s" } else { "" };
    Some(format!(
        "the clients' TIME-WAIT occupies {}{lasting}: {} towards {}{swap}",
        counted(held, "port"),
        share(held, ports),
        report.server
    ))
}

/// The occupied share of one address's ports, or the number of addresses needed.
fn share(held: u64, ports: u64) -> String {
    if held > ports {
        let addresses = held.div_ceil(ports.max(1));
        return format!("of at least {addresses} addresses with {} each", grouped(ports));
    }
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^53")]
    let percent = 100.0 * held as f64 / ports as f64;
    format!("{percent:.1} % of the {} that one address has", grouped(ports))
}

/// Notes that fewer connections are in TIME-WAIT than were closed.
fn reuse(report: &LoadReport) -> Option<String> {
    let TimeWait { server, client, .. } = &report.time_wait;
    let held = server.known()? + client.known()?;
    let reset = report.broken + report.not_closed + report.unfinished;
    let ended = report.connections.saturating_sub(reset);
    (held > 0 && held < ended && report.elapsed < TIME_WAIT).then(|| {
        format!(
            "{} in TIME-WAIT at neither end: TIME-WAIT ends when a port is reused, or by an RST; a \
             retransmitted FIN triggers such an RST when the client's socket is gone",
            counted(ended - held, "connection")
        )
    })
}

/// Notes that requests crossed the server's close, which is no error of either end.
fn crossed(report: &LoadReport) -> Option<String> {
    let kind = FailureKind::CloseRace;
    (report.crossed_closes > 0).then(|| {
        format!(
            "{} crossed the server's close of a connection that had been in use ({}), and {} of them sent again \
             (--retry-closed): {}",
            counted(report.crossed_closes, "request"),
            kind.name(),
            match report.repeated {
                0 => "none".to_owned(),
                repeated => grouped(repeated),
            },
            kind.remedy(),
        )
    })
}

/// Notes that an open loop fell behind because its connections were busy.
fn lateness(options: &LoadOptions, loaded: &LoadResult) -> Option<String> {
    let (late, missed) = (loaded.tally.latest_start(), loaded.missed);
    let own = loaded.tally.own_lateness();
    if options.rate.is_none() || (late <= LATE.max(own) && missed == 0) {
        return None;
    }
    let late = format!("up to {:.1} ms late", late.as_secs_f64() * 1e3);
    let what = match missed {
        0 => format!("requests started {late}"),
        _ => format!(
            "{} of {} that were due never started, and others started {late}",
            grouped(missed),
            counted(loaded.tally.answered() + loaded.tally.failed() + missed, "request"),
        ),
    };
    Some(format!(
        "{what}, because all {} were busy (--concurrency); latencies count from the time at which \
         a request was due, and only for those that started",
        counted(options.concurrency as u64, "connection")
    ))
}

/// Notes that the generator, or its host, may have limited the run instead of the server.
fn bottleneck(report: &LoadReport) -> Option<String> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let cost = report.own_cost.as_ref();
    if let Some(cost) = cost.filter(|cost| cost.waited() > WAITED) {
        return Some(format!(
            "this load generator waited for a processor during {} of the run, because other programs \
             used them: it may be the bottleneck, and latencies include its waits; run it on an idle \
             host",
            percent(cost.waited())
        ));
    }
    if let Some(cost) = cost.filter(|cost| cost.busy() > BUSY) {
        return Some(format!(
            "this load generator used {} of one processor, and it uses no other: it, not the server, \
             may be the bottleneck; run several at once, or use a lower --rate",
            percent(cost.busy())
        ));
    }
    (report.own_lateness > LATE).then(|| {
        format!(
            "requests started up to {:.1} ms late although a connection was free: this host was busy, \
             and latencies include that delay",
            report.own_lateness.as_secs_f64() * 1e3
        )
    })
}

/// Ports of Ackwise's TCP, which uses the upper half.
const OUR_PORTS: u64 = 32_768;
/// Shares of the time above which the generator may have been the bottleneck (our choice).
const BUSY: f64 = 0.9;
const WAITED: f64 = 0.1;
/// Start delays up to this do not matter (our choice).
const LATE: Duration = Duration::from_millis(10);
const TIME_WAIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_beyond_one_address_are_counted_in_addresses() {
        assert_eq!(share(14_116, 28_232), "50.0 % of the 28,232 that one address has");
        assert_eq!(share(30_000, 28_232), "of at least 2 addresses with 28,232 each");
    }

    #[test]
    fn the_generator_says_when_it_may_be_the_bottleneck() {
        use crate::OwnCost;

        let ms = Duration::from_millis;
        let cost =
            |cpu, waiting| Some(OwnCost { cpu: ms(cpu), waiting: ms(waiting), wall: ms(1000) });
        for (own_cost, own_lateness, expected) in [
            (None, ms(0), None),
            (cost(890, 90), ms(10), None),
            (cost(950, 0), ms(0), Some("used 95 % of one processor")),
            (cost(500, 300), ms(0), Some("waited for a processor during 30 %")),
            (cost(100, 0), ms(30), Some("up to 30.0 ms late")),
        ] {
            let report = LoadReport { own_cost, own_lateness, ..crate::report::sample::report() };
            let note = bottleneck(&report);
            match expected {
                None => assert_eq!(note, None),
                Some(words) => assert!(note.as_ref().unwrap().contains(words), "{note:?}"),
            }
        }
    }
}
