//! How many connections a live capture followed, if not all.

use std::{
    fmt,
    time::{Duration, Instant},
};

use ackwise_capture::analysis::Unfollowed;
use ackwise_text::words::{counted, grouped};
use schemars::JsonSchema;
use serde::Serialize;

/// How long a capture followed which part of all connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// How long it followed one connection in 1, 2, 4, and so on.
    times: Vec<Duration>,
    /// The part that it follows now, as a place in `times`, and since when.
    now: Option<(usize, Instant)>,
    /// The processor time that it may use, in percent of a processor.
    percent: f64,
}

impl Followed {
    /// Until `since`, it followed one connection in 1, 2, 4, and so on for each of `times`; since then, one
    /// in `2^halvings`.
    #[must_use]
    pub fn new(times: Vec<Duration>, (halvings, since): (u32, Instant), percent: f64) -> Self {
        Self { times, now: Some((halvings as usize, since)), percent }
    }

    /// The capture is over.
    pub(super) fn end(mut self, now: Instant) -> Self {
        if let Some((place, since)) = self.now.take()
            && let Some(time) = self.times.get_mut(place)
        {
            *time += now.saturating_duration_since(since);
        }
        self
    }

    /// How the report says it; `None` if everything was followed.
    pub(super) fn part(&self, unfollowed: Unfollowed) -> Option<FollowedPart> {
        let some = self.times.iter().skip(1).any(|it| !it.is_zero());
        some.then(|| FollowedPart {
            parts: (0..)
                .zip(&self.times)
                .filter(|(_, time)| !time.is_zero())
                .map(|(halvings, time)| PartTime {
                    one_in: 1 << halvings,
                    seconds: time.as_secs_f64(),
                })
                .collect(),
            cpu_percent: self.percent,
            abandoned_connections: unfollowed.connections,
            abandoned_exchanges: unfollowed.exchanges,
        })
    }
}

/// Which part of all connections a live capture followed, because following all would have taken more
/// processor time than it may use.
///
/// Connections are chosen by their addresses and ports. While a part was followed, packets other than TCP
/// were not counted, nor were fragments, tunnels and IPv6 extension headers looked into.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FollowedPart {
    /// How long it followed one connection in `one_in`, the largest part first; 1 stands for everything.
    pub parts: Vec<PartTime>,
    /// The processor time that it may use, in percent of a processor (`--cpu`).
    pub cpu_percent: f64,
    /// Number of open connections that it stopped following. What they showed until then is included.
    pub abandoned_connections: u64,
    /// Number of open exchanges on them, which nothing else counts.
    pub abandoned_exchanges: u64,
}

/// How long a part was followed.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartTime {
    /// One connection in so many.
    pub one_in: u32,
    /// For so long.
    pub seconds: f64,
}

impl fmt::Display for FollowedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |it: &PartTime| format!("{:.1} s", it.seconds);
        let longest = |a: &&PartTime, b: &&PartTime| a.seconds.total_cmp(&b.seconds);
        let part = |it: &PartTime| format!("one in {} for {}", grouped(it.one_in.into()), time(it));
        let mut parts: Vec<&PartTime> = self.parts.iter().filter(|it| it.one_in > 1).collect();
        parts.sort_by(|a, b| longest(b, a));
        let all = self.parts.iter().find(|it| it.one_in == 1);
        f.write_str("Followed only some connections: ")?;
        let mut words: Vec<String> = parts.iter().take(MOST_PARTS).map(|it| part(it)).collect();
        if let Some(rest) = parts.get(MOST_PARTS..).filter(|it| !it.is_empty()) {
            let seconds: f64 = rest.iter().map(|it| it.seconds).sum();
            words.push(format!("other parts for {seconds:.1} s"));
        }
        words.extend(all.map(|it| format!("all for {}", time(it))));
        write!(
            f,
            "{}, because following all takes more than {} % of a processor (--cpu).",
            words.join(", "),
            self.cpu_percent
        )?;
        if self.abandoned_connections > 0 {
            let connections = counted(self.abandoned_connections, "open connection");
            write!(f, " Stopped following {connections}")?;
            if self.abandoned_exchanges > 0 {
                let exchanges = counted(self.abandoned_exchanges, "open exchange");
                write!(f, "; {exchanges} on them not reported")?;
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

/// Parts that the line names, longest first (our choice; JSON has all).
const MOST_PARTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_part_was_followed_for_how_long_and_why() {
        let begun = Instant::now();
        let seconds = |it: &[u64]| it.iter().map(|it| Duration::from_secs(*it)).collect();
        let line = |times: &[u64], halvings, unfollowed: Unfollowed| {
            let followed = Followed::new(seconds(times), (halvings, begun), 5.0);
            let followed = followed.end(begun + Duration::from_secs(2));
            followed.part(unfollowed).map(|it| it.to_string())
        };
        let nothing = Unfollowed::default();
        assert_eq!(Followed::default().end(begun).part(nothing), None);
        assert_eq!(line(&[3, 0, 0], 0, nothing), None);
        assert_eq!(
            line(&[3, 1, 0, 0, 0, 0, 53], 6, nothing).as_deref(),
            Some(
                "Followed only some connections: one in 64 for 55.0 s, one in 2 for 1.0 s, all for \
                 3.0 s, because following all takes more than 5 % of a processor (--cpu)."
            )
        );
        let mut unfollowed = nothing;
        (unfollowed.connections, unfollowed.exchanges) = (4_321, 1);
        assert_eq!(
            line(&[0, 1, 2, 3, 4, 5], 1, unfollowed).as_deref(),
            Some(
                "Followed only some connections: one in 32 for 5.0 s, one in 16 for 4.0 s, one in \
                 2 for 3.0 s, other parts for 5.0 s, because following all takes more than 5 % of \
                 a processor (--cpu). Stopped following 4,321 open connections; 1 open exchange on \
                 them not reported."
            )
        );
    }
}
