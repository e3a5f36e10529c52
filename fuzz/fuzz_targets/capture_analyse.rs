//! Segments in any order, with any times: the analyser does not panic, divides the time of each
//! exchange without a rest, and says the same again, also when it draws a report's plots.

#![no_main]

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    decode::Seen,
};
use ackwise_fuzz::{
    analysed,
    traffic::{Packet, Traffic},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|traffic: Traffic| {
    let packets = traffic.packets();
    let count = packets.len() as u64;
    let plain = analyse(&packets, Analyser::default());
    let drawn = analyse(&packets, Analyser::default().with_series());
    analysed::check(&plain, count, count);
    analysed::check(&drawn, count, count);
    assert_eq!(verdicts(&plain), verdicts(&drawn));
});

fn analyse(packets: &[Packet], mut analyser: Analyser) -> Analysis {
    for (number, packet) in (1..).zip(packets) {
        analyser.handle(&Seen {
            number,
            at: packet.at,
            interface: packet.interface,
            source: packet.source,
            destination: packet.destination,
            segment: packet.segment,
            payload: &packet.data[..packet.captured],
            hop_limit: packet.hop_limit,
            identification: packet.identification,
            fragment: false,
            options_cut: false,
            station: None,
        });
    }
    analyser.finish()
}

/// All that does not depend on whether a report is drawn.
fn verdicts(analysis: &Analysis) -> Vec<String> {
    let exchanges = analysis.exchanges.iter().map(|it| {
        let place = (it.connection, it.start, it.duration, &it.request, it.status, it.bytes);
        format!("{place:?} {:?}", it.shares)
    });
    let connections = analysis
        .connections
        .iter()
        .map(|it| format!("{} {:?} {:?} {:?}", it.id, it.protocol, it.closed_first, it.round_trip));
    exchanges.chain(connections).collect()
}
