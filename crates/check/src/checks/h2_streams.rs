//! `h2-streams`: how many requests may be under way on one connection, and does the server answer PING?

use std::time::Duration;

use ackwise_cause::Remedy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, ExchangeError, Settings},
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{self, Facts, needs_http2},
    stack::Receiver,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "h2-streams",
        "how many concurrent requests an HTTP/2 connection allows, and whether PING is answered",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "allow at least 100 concurrent streams (SETTINGS_MAX_CONCURRENT_STREAMS), and answer each PING at once",
    )]],
    run: Run::Server(ServerCheck::new(13, [1, 1], 0.3, run).only_if(server::is_http2)),
};

/// Values of `h2-streams`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct H2Streams {
    /// Streams that a client may have open at once; null for any number.
    pub max_concurrent: Option<u32>,
    /// How long the server took to acknowledge a PING; null if it did not.
    pub ping_ms: Option<f64>,
}

fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    needs_http2(client)?;
    let mut connection = client.open(Receiver::ETHERNET)?;
    let request = client.ask_for(&facts.page_to_its_end(), None)?;
    connection.request(&request, &mut client.budget)?;
    let settings = connection.http2().and_then(|it| it.settings());
    let settings = settings.ok_or_else(|| {
        NoVerdict::unknown(Reason::NoAnswer, "the server's SETTINGS did not come")
    })?;
    let ping = match connection.ping(&client.budget) {
        Ok(ping) => ping,
        // RFC 9113, section 6.8: it has said that it is leaving.
        Err(ExchangeError::ClosedUnanswered(_)) => {
            let why = "the server closed the connection before it answered a PING";
            return Err(NoVerdict::unknown(Reason::Disturbed, why));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(decide(settings, ping))
}

/// `ping` is how long the server took to answer one, if it has.
fn decide(settings: Settings, ping: Option<Duration>) -> Judged {
    let max = settings.max_concurrent_streams;
    let streams = match max {
        Some(max) => format!("at most {max} concurrent streams"),
        None => "any number of concurrent streams".to_owned(),
    };
    let (answered, told) = match ping {
        Some(took) => (true, format!("a PING is answered in {:.1} ms", ms(took))),
        None => (false, "a PING is not answered (RFC 9113, section 6.7)".to_owned()),
    };
    let verdict = match max.is_none_or(|max| max >= RECOMMENDED) && answered {
        true => Verdict::Pass,
        false => Verdict::Warn,
    };
    let few = match max.filter(|max| *max < RECOMMENDED) {
        Some(_) => " (RFC 9113, section 6.5.2, recommends no fewer than 100)",
        None => "",
    };
    let values = H2Streams { max_concurrent: max, ping_ms: ping.map(ms) };
    Judged::new(verdict, format!("{streams}{few}; {told}"), values)
}

/// RFC 9113, section 6.5.2.
const RECOMMENDED: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_settings_and_the_ping_say() {
        let took = Duration::from_micros(1_500);
        for (max, ping, verdict, says) in [
            (
                None,
                Some(took),
                Verdict::Pass,
                "any number of concurrent streams; a PING is answered in 1.5 ms",
            ),
            (Some(100), Some(took), Verdict::Pass, "at most 100 concurrent streams; a PING"),
            (
                Some(99),
                Some(took),
                Verdict::Warn,
                "at most 99 concurrent streams (RFC 9113, section 6.5.2",
            ),
            (Some(100), None, Verdict::Warn, "a PING is not answered"),
        ] {
            let settings = Settings { initial_window: 65_535, max_concurrent_streams: max };
            let found = decide(settings, ping);
            assert_eq!(found.verdict, verdict, "{max:?} {ping:?}");
            assert!(found.summary.contains(says), "{}", found.summary);
        }
    }
}
