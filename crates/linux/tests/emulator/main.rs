//! The link emulator as seen by the kernel's TCP and UDP.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cable;
mod ends;
mod fate;

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use ackwise_link::{LinkConfig, Queue, Rate};
use ackwise_linux::emulator::EmulatorOptions;
use cable::Cable;

#[test]
fn a_connect_takes_a_round_trip_of_40_ms() {
    let link = LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::IDEAL };
    let name = "a_connect_takes_a_round_trip_of_40_ms";
    Cable::with(name, EmulatorOptions::symmetric(link), |cable| {
        let (listener, address) = cable.listen();
        let mut waits: Vec<_> = (0..5)
            .map(|_| {
                let start = Instant::now();
                let client = cable.client.run(|| TcpStream::connect(address)).unwrap().unwrap();
                let wait = start.elapsed();
                drop((client, listener.accept().unwrap()));
                wait
            })
            .collect();
        waits.sort_unstable();
        // Never early; the lateness depends on the machine, so the median is checked with a wide
        // band.
        assert!(waits[0] >= Duration::from_millis(40), "{waits:?}");
        assert!(waits[2] < Duration::from_millis(60), "{waits:?}");
        let report = cable.emulator.stop().unwrap();
        assert_eq!(
            report.lateness.packets,
            report.to_server.delivered + report.to_client.delivered
        );
        assert!(report.lateness.median <= report.lateness.max, "{report}");
    });
}

#[test]
fn a_bulk_transfer_fills_a_link_of_10_megabits_a_second() {
    const BYTES: usize = 2_000_000;
    let link = LinkConfig {
        rate: Rate::bits_per_second(10_000_000),
        delay: Duration::from_millis(5),
        queue: Queue::packets(50).unwrap(),
        ..LinkConfig::IDEAL
    };
    let name = "a_bulk_transfer_fills_a_link_of_10_megabits_a_second";
    Cable::with(name, EmulatorOptions::symmetric(link), |cable| {
        let (mut sender, mut receiver) = cable.connect();
        let sending = thread::spawn(move || sender.write_all(&vec![0; BYTES]).unwrap());
        let mut received = vec![0; BYTES];
        receiver.read_exact(&mut received[..100_000]).unwrap();
        let start = Instant::now();
        receiver.read_exact(&mut received[100_000..]).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        sending.join().unwrap();
        let report = cable.emulator.stop().unwrap();
        let rate = (BYTES - 100_000) as f64 * 8.0 / seconds / 1e6;
        // 1448 bytes of 1500 are data: 9.65 Mb/s.
        assert!((9.0..9.8).contains(&rate), "{rate} Mb/s\n{report}");
        println!("{rate} Mb/s\n{report}");
    });
}
