//! The options that say how many requests there are, and when.

use std::{
    num::{NonZeroU32, NonZeroU64},
    time::Duration,
};

use ackwise_http::workload::Span;
use ackwise_link::Seed;
use ackwise_load::{LoadOptions, Pattern, Think, ThinkScope};
use ackwise_units::Frequency;
use clap::{Args, ValueEnum};

use crate::cli::{number::whole, quantity};

#[derive(Args, Debug)]
pub(super) struct Paced {
    /// Make N connections in total [default: 1000; with --requests or --duration, as many as needed]
    #[arg(long, value_name = "N", value_parser = whole(1_u64..))]
    connections: Option<u64>,

    /// Send N requests in total
    #[arg(long, value_name = "N", value_parser = whole(1_u64..))]
    requests: Option<u64>,

    /// Keep at most C connections open at once; with --plan, have C users [default: 64; with --plan, 1]
    #[arg(long, value_name = "C", value_parser = whole(1..=100_000_u32))]
    concurrency: Option<u32>,

    /// Send K requests on each connection, one after the other, or `unlimited`
    #[arg(long, value_name = "K", default_value = "1", value_parser = per_connection)]
    requests_per_connection: PerConnection,

    /// Send R requests per second, such as 500/s, even if the server falls behind [default: send the next when one is
    /// answered]
    #[arg(long, value_name = "R", value_parser = quantity::per_second)]
    rate: Option<Frequency>,

    /// Select how the requests of --rate are spaced
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    arrivals: Spacing,

    /// Treat each of the C connections as a user who waits this long between pages
    ///
    /// HOW is a time (2s), a uniform distribution (1s..2s), an exponential one (exponential:2s), or a published one:
    /// gurkan (1s..2s) or surge (Pareto from 1 s on). With --workload, a page is one of its pages with all
    /// files; without, each request is a page. Latencies do not include think times.
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "HOW", conflicts_with = "rate", value_parser = think)]
    think: Option<Span>,

    /// Select where --think applies
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum, value_name = "WHAT", requires = "think", default_value_t)]
    think_scope: Scope,

    /// Set the seed of --arrivals, --think and --workload
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Start no more requests after TIME
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    duration: Option<Duration>,

    /// Do not count requests during the first TIME; --duration starts after it
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    warmup: Option<Duration>,

    /// Raise the rate from 0 during the first TIME; without --rate, raise the number of open connections instead
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    ramp: Option<Duration>,
}

impl Paced {
    pub(super) const fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    pub(super) fn apply(&self, options: &mut LoadOptions, usual: u32) {
        let PerConnection(each) = self.requests_per_connection;
        let ends_otherwise = self.requests.is_some() || self.duration.is_some() || each.is_none();
        if self.connections.is_some() || ends_otherwise {
            options.connections = self.connections;
        }
        options.requests = self.requests;
        let concurrency = self.concurrency.unwrap_or(usual);
        options.concurrency = usize::try_from(concurrency).unwrap_or(options.concurrency);
        options.requests_per_connection = each;
        options.rate = self.rate.map(Frequency::per_second);
        options.arrivals = match self.arrivals {
            Spacing::Constant => Pattern::Constant,
            Spacing::Poisson => Pattern::Poisson(self.seed()),
        };
        let scope = self.think_scope.into();
        let seed = self.seed();
        options.think = self.think.clone().map(|span| Think { span, scope, seed });
        options.duration = self.duration;
        options.warm_up = self.warmup.unwrap_or_default();
        options.ramp = self.ramp.unwrap_or_default();
    }
}

/// Requests on each connection; `None`: any number.
#[derive(Clone, Copy, Debug)]
struct PerConnection(Option<NonZeroU64>);

fn per_connection(text: &str) -> Result<PerConnection, String> {
    if text == "unlimited" {
        return Ok(PerConnection(None));
    }
    let number = whole(NonZeroU32::MIN..)(text).map_err(|why| format!("{why}, or `unlimited`"))?;
    Ok(PerConnection(Some(number.into())))
}

/// How long users think.
fn think(text: &str) -> Result<Span, String> {
    if let Some(span) = Span::published(text) {
        return Ok(span);
    }
    let names: Vec<_> = Span::published_names().collect();
    let expected =
        format!("expected a time such as 2s, or 1s..2s, exponential:2s, {}", names.join(" or "));
    let time = |text: &str| quantity::time(text).map_err(|_| expected.clone());
    let span = match (text.strip_prefix("exponential:"), text.split_once("..")) {
        (Some(mean), _) => Span::Exponential { mean: time(mean)? },
        (None, Some((from, to))) => Span::Uniform { from: time(from)?, to: time(to)? },
        (None, None) => Span::Fixed(time(text)?),
    };
    span.check().map_err(|why| why.to_string())?;
    Ok(span)
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum Scope {
    /// After the last file of a page
    #[default]
    Document,
    /// After each file
    File,
}

impl From<Scope> for ThinkScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Document => Self::Document,
            Scope::File => Self::File,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum Spacing {
    /// Equal gaps
    #[default]
    Constant,
    /// Exponential gaps, like requests of many independent users
    Poisson,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_has_a_name() {
        let parse =
            |text| per_connection(text).map(|PerConnection(each)| each.map(NonZeroU64::get));
        assert_eq!(parse("unlimited"), Ok(None));
        assert_eq!(parse("12"), Ok(Some(12)));
        assert!(parse("0").unwrap_err().contains("unlimited"));
    }

    #[test]
    fn users_think_for_a_time_or_for_those_of_a_paper() {
        let second = Duration::from_secs;
        assert_eq!(think("2s"), Ok(Span::Fixed(second(2))));
        assert_eq!(think("gurkan"), think("1s..2s"));
        assert_eq!(think("exponential:1s"), Ok(Span::Exponential { mean: second(1) }));
        assert_eq!(think("surge"), Ok(Span::SURGE_INACTIVE_OFF));
        for wrong in ["", "2x", "2s..1s", "exponential:", "mah", "1s..", "..2s"] {
            assert!(think(wrong).is_err(), "{wrong}");
        }
    }
}
