//! Times pages over an emulated path, and says what was emulated.

use std::time::Duration;

use ackwise_http::ConnectionOption;
use ackwise_link::Rate;
use ackwise_units::statistics::middle;

use crate::{
    card::{Emulated, FarPage},
    http_client::{Client, ExchangeError, HttpConnection, Page},
    server::Facts,
    stack::{
        Receiver,
        distance::{Distance, PathLoss},
    },
};

/// As the card shows it, with the times of the page.
pub(super) fn emulate(distance: &Distance, client: &mut Client, facts: &Facts) -> Emulated {
    client.emulate(PathLoss::On);
    // The checks come afterwards, and need their time.
    let (all, now) = (client.budget.clone(), client.now());
    let time = all.time_left(now).mul_f64(SHARE);
    let lent = all.lend(all.requests_left() / 2, time, now);
    client.budget = lent.clone();
    let mut pages = Vec::new();
    for (page, bytes) in facts.pages().into_iter().take(PAGES) {
        // A limit that is reached leaves the rest untimed.
        let Ok(timed) = time_page(&page, bytes, client) else { break };
        pages.push(timed);
    }
    client.emulate(PathLoss::Off);
    client.budget = all.settle(&lent, &client.budget);
    Emulated {
        loss_percent: distance.loss.map(|loss| f64::from(loss.as_per_million()) / 1e4),
        pages,
        queue_bytes: distance.queue_bytes(),
        rate_bits_per_second: distance.rate.map(Rate::get),
        rtt_ms: distance.rtt.as_secs_f64() * 1e3,
    }
}

/// Times the page on new connections, from the SYN on, and on the same ones once more. A limit leaves it with fewer
/// loads.
///
/// # Errors
///
/// If there is none.
fn time_page(page: &Page, bytes: u64, client: &mut Client) -> Result<FarPage, ExchangeError> {
    let (mut new, mut kept) = (Vec::new(), Vec::new());
    for load in 0..LOADS {
        match load_page(page, client) {
            Ok((first, second)) => {
                new.extend(first);
                kept.extend(second);
            }
            Err(error) if load == 0 => return Err(error),
            Err(_) => break,
        }
    }
    let ms = |times: &[Duration]| middle(times.iter().copied()).map(|it| it.as_secs_f64() * 1e3);
    Ok(FarPage {
        bytes,
        kept_connection_ms: ms(&kept),
        loads: u32::try_from(new.len()).unwrap_or(u32::MAX),
        new_connection_ms: ms(&new),
        path: page.path.clone(),
    })
}

/// Once on a new connection, and once more if it persists.
fn load_page(
    page: &Page,
    client: &mut Client,
) -> Result<(Option<Duration>, Option<Duration>), ExchangeError> {
    let request = client.ask_for(page, Some(ConnectionOption::KeepAlive))?;
    let time = |connection: &mut HttpConnection, client: &mut Client| {
        let exchange = connection.request(&request, &mut client.budget)?;
        Ok::<_, ExchangeError>(exchange.duration().filter(|_| exchange.complete))
    };
    let begun = client.now();
    // Users offer SACK, without which each loss takes a round trip of its own.
    let mut connection = client.open(Receiver { sack: true, ..Receiver::ETHERNET })?;
    let connected = connection.now().saturating_duration_since(begun);
    let new = time(&mut connection, client)?.map(|took| connected + took);
    let kept = match connection.accepts_requests() {
        // A limit that is reached now does not take the first time.
        true => time(&mut connection, client).unwrap_or(None),
        false => None,
    };
    Ok((new, kept))
}

/// What the card says of it.
pub(super) fn notes(emulated: &Emulated) -> Vec<String> {
    let Emulated { loss_percent, pages, queue_bytes, rate_bits_per_second, rtt_ms } = emulated;
    let rate = rate_bits_per_second
        .map_or_else(String::new, |rate| format!(", {} Mb/s", rate as f64 / 1e6));
    let queue = queue_bytes.map_or_else(String::new, |bytes| format!(", queues of {bytes} bytes"));
    let loss = loss_percent.map_or_else(String::new, |percent| {
        format!(", {percent} % loss while the page was timed, and none otherwise")
    });
    let mut notes = vec![format!("emulated a path of {rtt_ms} ms{rate}{queue}{loss}")];
    for FarPage { bytes, kept_connection_ms, loads, new_connection_ms, path } in pages {
        let Some(new) = new_connection_ms else { continue };
        let kept = kept_connection_ms
            .map_or_else(String::new, |kept| format!(", {kept:.0} ms on a kept one"));
        notes.push(format!(
            "over it, {path} ({bytes} bytes) takes {new:.0} ms on a new connection{kept} (medians of {loads})"
        ));
    }
    notes
}

/// Our choices: pages that are timed, and a median of five, one of which may be disturbed.
const PAGES: usize = 3;
const LOADS: usize = 5;

/// Of the time that is left, for all pages. Our choice.
const SHARE: f64 = 0.25;
