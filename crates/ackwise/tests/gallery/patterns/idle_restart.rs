//! A kept connection is idle for a while, and its congestion window is cut.

use std::{fs, thread};

use ackwise_cause::{Cause, Party};

use super::*;

#[test]
fn a_restart_after_idle_on_a_kept_connection() {
    Exhibit {
        title: "A restart after idle on a kept connection",
        source: include_str!("idle_restart.rs"),
        network: Network::Link(long_way),
        server: serve,
        client: ask_now_and_then,
        verdict: Claim::Costs(Cause::IdleRestart, Party::Server, 25.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    let keep = if version == Version::Fixed { "0" } else { "1" };
    fs::write("/proc/sys/net/ipv4/tcp_slow_start_after_idle", keep)?;
    stream.set_nodelay(true)?;
    answer(stream, 95_000)
}

fn ask_now_and_then(server: SocketAddr, _: Version) -> io::Result<()> {
    // Whether the kernel's own tuning keeps up with slow start is another question.
    fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 8388608 33554432")?;
    let mut stream = connect(server)?;
    ask(&mut stream)?;
    (0..3).try_for_each(|_| {
        thread::sleep(Duration::from_millis(1_500));
        ask(&mut stream)
    })
}
