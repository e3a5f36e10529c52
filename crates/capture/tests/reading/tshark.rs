//! Beside tshark: captures that tcpdump makes of a real connection on this machine's loopback.
//!
//! Where tcpdump may not capture, or there is no tshark, nothing is compared; the test says so.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use ackwise_capture::{
    decode::{Seen, decode},
    read::Source,
};

#[test]
fn tshark_sees_the_same_segments() {
    for (name, options) in [
        ("whole", &["-i", "lo"][..]),
        ("snapped", &["-i", "lo", "-s", "128"]),
        ("nanoseconds", &["-i", "lo", "--time-stamp-precision=nano"]),
        ("cooked", &["-i", "any", "-y", "LINUX_SLL"]),
        ("cooked-2", &["-i", "any"]),
    ] {
        let file = std::env::temp_dir().join(format!("ackwise-{}-{name}", std::process::id()));
        let compared = capture(&file, options).and_then(|()| tshark(&file));
        let ours = ours(&file);
        let _ = std::fs::remove_file(&file);
        match compared {
            None => eprintln!("{name}: nothing to compare with"),
            Some(theirs) => {
                assert!(theirs.len() > 10, "{name}: {} packets", theirs.len());
                assert_eq!(ours.len(), theirs.len(), "{name}");
                for (ours, theirs) in ours.iter().zip(&theirs) {
                    assert_eq!(ours, theirs, "{name}");
                }
            }
        }
    }
}

/// Captures a connection into `file`, if that is allowed here.
fn capture(file: &Path, options: &[&str]) -> Option<()> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Without a larger buffer it loses most of these packets, which are of 64 KiB on the loopback.
    let mut tcpdump = Command::new("tcpdump")
        .args(["-U", "-Z", "root", "--immediate-mode", "-B", "65536", "-w"])
        .arg(file)
        .args(options)
        .args(["tcp", "port", &address.port().to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut says = BufReader::new(tcpdump.stderr.take()?).lines().map_while(Result::ok);
    if !says.any(|line| line.contains("listening on")) {
        let _ = tcpdump.wait();
        return None;
    }
    let serving = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut request = [0; 3_000];
        for _ in 0..5 {
            peer.read_exact(&mut request).unwrap();
            peer.write_all(&[b'x'; 200_000]).unwrap();
        }
    });
    let mut client = TcpStream::connect(address).unwrap();
    let mut response = vec![0; 200_000];
    for _ in 0..5 {
        client.write_all(&[b'?'; 3_000]).unwrap();
        client.read_exact(&mut response).unwrap();
    }
    drop(client);
    serving.join().unwrap();
    finish(tcpdump, file);
    Some(())
}

/// Ends a capture once both ends have closed and nothing more comes.
fn finish(mut tcpdump: Child, file: &Path) {
    let mut before = Vec::new();
    for _ in 0..MOST_PAUSES {
        thread::sleep(PAUSE);
        let now = ours(file);
        if now == before && now.iter().filter(|line| line.ends_with(FIN)).count() >= 2 {
            break;
        }
        before = now;
    }
    // With `-U` every packet is in the file already, so there is nothing to lose.
    let _ = tcpdump.kill();
    let _ = tcpdump.wait();
}

/// One line for each TCP segment.
fn tshark(file: &Path) -> Option<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-Y", "tcp", "-T", "fields", "-E", "separator=,"]);
    for field in [
        "frame.number",
        "frame.time_epoch",
        "ip.src",
        "tcp.srcport",
        "ip.dst",
        "tcp.dstport",
        "ip.ttl",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.window_size_value",
        "tcp.options.timestamp.tsval",
        "tcp.flags.push",
        "tcp.flags.fin",
    ] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().ok()?;
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(str::to_owned).collect())
}

fn ours(file: &Path) -> Vec<String> {
    let (mut source, mut lines) = (Source::open([file]), Vec::new());
    while let Ok(Some(frame)) = source.next() {
        lines.extend(decode(&frame).ok().map(|seen| line(&seen)));
    }
    lines
}

fn line(seen: &Seen<'_>) -> String {
    let Seen { number, source, destination, hop_limit, segment, .. } = seen;
    let nanos = seen.at.as_nanos();
    let timestamp = segment.options.timestamps.map_or(String::new(), |it| it.value.to_string());
    format!(
        "{number},{}.{:09},{},{},{},{},{hop_limit},{},{},{},{},{timestamp},{},{}",
        nanos / 1_000_000_000,
        nanos % 1_000_000_000,
        source.ip(),
        source.port(),
        destination.ip(),
        destination.port(),
        segment.seq.0,
        segment.ack.map_or(0, |ack| ack.0),
        segment.len,
        segment.window,
        u8::from(segment.flags.psh),
        u8::from(segment.flags.fin),
    )
}

/// How a line of a FIN ends.
const FIN: &str = ",1";

const PAUSE: Duration = Duration::from_millis(200);
const MOST_PAUSES: usize = 100;
