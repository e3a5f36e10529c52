//! Prints the connections and exchanges of a capture, with their causes: `explain FILE…`.

use std::error::Error;

use ackwise_capture::{analysis::Analyser, decode::decode, read::Source};

fn main() -> Result<(), Box<dyn Error>> {
    let mut source = Source::open(std::env::args_os().skip(1).collect::<Vec<_>>());
    let mut analyser = Analyser::default();
    loop {
        match source.next() {
            Ok(Some(frame)) => {
                if let Ok(seen) = decode(&frame) {
                    analyser.handle(&seen);
                }
            }
            Ok(None) => break,
            Err(error) => {
                eprintln!("{error}");
                break;
            }
        }
    }
    let analysis = analyser.finish();
    for connection in &analysis.connections {
        println!(
            "connection {} {} > {} {:?} vantage {} rtt {:?} iw {:?} delayed ack {:?} closed first {:?}",
            connection.id,
            connection.client,
            connection.server,
            connection.protocol,
            connection.vantage.name(),
            connection.round_trip,
            connection.initial_window,
            connection.delayed_ack,
            connection.closed_first,
        );
        for (end, pacing) in ["client", "server"].iter().zip(&connection.pacing) {
            if let Some(pacing) = pacing {
                println!("    {end} {pacing:?}");
            }
        }
    }
    for exchange in &analysis.exchanges {
        println!(
            "{:.6} connection {} {} {:?} {:.3} ms{}",
            exchange.start.since(analysis.first).as_secs_f64(),
            exchange.connection,
            exchange.request.as_deref().unwrap_or("-"),
            exchange.status,
            exchange.duration.as_secs_f64() * 1e3,
            if exchange.complete { "" } else { " (incomplete)" },
        );
        for share in &exchange.shares {
            println!(
                "    {:>10.3} ms {} {} x{} {} {:?}",
                share.span.as_secs_f64() * 1e3,
                share.cause,
                share.direction.name(),
                share.times,
                share.confidence.name(),
                share.evidence.packets().collect::<Vec<_>>(),
            );
        }
    }
    Ok(())
}
