//! Counts what is in captures, and what reading them costs: `count FILE…`, `-` for standard input.

use ackwise_capture::{
    decode::{self, LeftOut},
    read::Source,
};
use nix::sys::resource::{UsageWho, getrusage};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut source = Source::open(std::env::args_os().skip(1));
    let (mut segments, mut bytes, mut captured) = (0_u64, 0_u64, 0_u64);
    let mut left_out = LeftOut::default();
    loop {
        match source.next() {
            Ok(Some(frame)) => match decode::decode(&frame) {
                Ok(seen) => {
                    segments += 1;
                    bytes += u64::from(seen.segment.len);
                    captured += seen.payload.len() as u64;
                }
                Err(why) => left_out.count(why),
            },
            Ok(None) => break,
            Err(error) => eprintln!("{error}"),
        }
    }
    let packets = source.packets();
    println!("{packets} packets");
    println!("{segments} TCP segments with {bytes} bytes of data, {captured} of them captured");
    for (why, packets) in left_out.iter() {
        println!("{packets} packets {why}");
    }
    println!("{} packets were lost by the capture", source.drops().packets());
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    for (name, time) in [("user", usage.user_time()), ("system", usage.system_time())] {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        println!("{:.1} ns/packet {name} time", micros as f64 * 1_000.0 / packets.max(1) as f64);
    }
    Ok(())
}
