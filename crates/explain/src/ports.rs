//! Clients that run out of ports: each connection that they close first keeps one in TIME-WAIT.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::analysis::Analysis;
use ackwise_cause::Party;
use ackwise_tcp::Instant;
use ackwise_text::words::grouped;

/// How long Linux holds TIME-WAIT (`TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Duration = Duration::from_secs(60);
/// The ports of one address that Linux takes by default (`net.ipv4.ip_local_port_range`, 32768 to 60999).
const PORTS: usize = 28_232;

/// A warning for each client that had half of these ports in TIME-WAIT towards one server at a time (our choice).
pub(super) fn warnings(analysis: &Analysis) -> Vec<String> {
    let held = || analysis.connections.iter().filter(|it| it.time_wait == Some(Party::Client));
    if held().count() * 2 < PORTS {
        return Vec::new();
    }
    let mut ended: BTreeMap<(IpAddr, SocketAddr), Vec<Instant>> = BTreeMap::new();
    for it in held() {
        ended.entry((it.client.ip(), it.server)).or_default().push(it.last_seen);
    }
    let warning = |((client, server), ended): ((IpAddr, SocketAddr), Vec<Instant>)| {
        let most = most_at_a_time(ended);
        (most * 2 >= PORTS).then(|| {
            format!(
                "warning: {client} held TIME-WAIT for up to {} connections to {server} at a time; Linux has {} ports for one \
                 server by default, and connects fail when none is free. Keep connections, or let the server close first.",
                grouped(most as u64),
                grouped(PORTS as u64),
            )
        })
    };
    ended.into_iter().filter_map(warning).collect()
}

fn most_at_a_time(mut ended: Vec<Instant>) -> usize {
    ended.sort_unstable();
    let mut first = 0;
    let mut most = 0;
    for (number, at) in ended.iter().enumerate() {
        while at.saturating_since(ended[first]) >= TIME_WAIT {
            first += 1;
        }
        most = most.max(number + 1 - first);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_again_after_a_minute() {
        for (seconds, expected) in
            [(&[][..], 0), (&[0, 1, 59], 3), (&[59, 0, 60, 61], 3), (&[0, 60, 120], 1)]
        {
            let ended =
                seconds.iter().map(|it| Instant::EPOCH + Duration::from_secs(*it)).collect();
            assert_eq!(most_at_a_time(ended), expected, "{seconds:?}");
        }
    }
}
