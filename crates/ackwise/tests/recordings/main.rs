#![cfg(target_os = "linux")]
//! What `ackwise run` records is what programs that are not ours find in it.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod command;
mod messages;
mod scenario;
mod tool;

use std::{
    collections::BTreeMap,
    fs,
    num::{NonZeroU16, NonZeroU32},
    path::PathBuf,
};

use ackwise_http::page::Transfer;
use ackwise_lab::run::{
    pcap::Capture,
    record::{RecordError, Recorder, Recording},
};
use ackwise_sim::{Scenario, observe::Side, run, scenario::NodeId};
use ackwise_tcp::Policies;
use ackwise_testing::skip;
use messages::Messages;
use scenario::{CLIENT, SERVER, rough, smooth};

const TRANSFERS: [Transfer; 6] = [
    Transfer::Serial,
    Transfer::Parallel { connections: NonZeroU16::new(3).unwrap() },
    Transfer::Persistent,
    Transfer::Pipelined,
    Transfer::SegmentFilled { segment: NonZeroU32::new(1_448).unwrap() },
    Transfer::GetWeb,
];

/// Every segment is sound, whatever the network does, and the messages stand where they were written.
#[test]
fn tshark_finds_each_message_at_its_place_and_nothing_wrong() {
    for transfer in TRANSFERS {
        for vantage in [CLIENT, SERVER] {
            let scenario = rough(transfer, Policies::LINUX_6);
            let file = Temporary::capture(&scenario, vantage);
            if let Err(missing) = messages_are_found(&scenario, &file) {
                return skip("tshark_finds_each_message_at_its_place_and_nothing_wrong", missing);
            }
        }
    }
}

fn messages_are_found(scenario: &Scenario, file: &Temporary) -> Result<(), String> {
    let messages = Messages::of(scenario);
    let frames = tool::fields(
        &[
            "ip.checksum.status",
            "tcp.checksum.status",
            "_ws.malformed",
            "_ws.expert.severity",
            "http.request.uri",
            "http.response.code",
            "http.content_length",
            "tcp.stream",
            "tcp.dstport",
        ],
        &file.0,
    )?;
    for (number, frame) in (1..).zip(&frames) {
        let [ip, tcp, malformed, severity, ..] = &frame[..] else { panic!("{frame:?}") };
        assert_eq!([ip.as_str(), tcp], ["1", "1"], "checksums of frame {number} in {file:?}");
        assert_eq!(malformed, "", "frame {number} in {file:?}");
        let worst = severity.split(';').filter_map(|level| level.parse::<u32>().ok()).max();
        assert!(worst < Some(EXPERT_ERROR), "frame {number} in {file:?}: {severity}");
    }
    let column = |at: usize| {
        let values = frames.iter().flat_map(move |frame| frame[at].split(';'));
        values.filter(|value| !value.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut asked, mut found) = (messages.targets(), column(4));
    asked.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, asked, "requests in {file:?}");
    assert_eq!(column(5), vec!["200"; messages.from(Side::Server).count()], "{file:?}");
    let mut bodies: Vec<_> = messages.from(Side::Server).map(|message| message.body).collect();
    let mut lengths: Vec<u64> = column(6).iter().map(|length| length.parse().unwrap()).collect();
    bodies.sort_unstable();
    lengths.sort_unstable();
    assert_eq!(lengths, bodies, "lengths of responses in {file:?}");
    let places = frames.iter().map(|frame| (frame[8].parse().unwrap(), frame[7].parse().unwrap()));
    messages.stand_in(&places.collect(), &file.0)
}

/// Wireshark's level of what cannot be right.
const EXPERT_ERROR: u32 = 0x0080_0000;

#[test]
fn tcpdump_reads_it_and_finds_no_wrong_checksum() {
    let scenario = rough(Transfer::Pipelined, Policies::SUNOS_4_1);
    let file = Temporary::capture(&scenario, SERVER);
    match tool::read("tcpdump", &["-n", "-vv"], &file.0) {
        Ok(text) => {
            assert!(text.contains("GET /0 HTTP/1.1") && text.contains("(correct)"), "{text}");
            assert!(!text.contains("incorrect") && !text.contains("bad"), "{text}");
        }
        Err(missing) => skip("tcpdump_reads_it_and_finds_no_wrong_checksum", missing),
    }
}

#[test]
fn wireshark_finds_nothing_sent_twice_where_nothing_was() {
    let scenario = smooth(Transfer::Persistent, Policies::LINUX_6);
    let file = Temporary::capture(&scenario, CLIENT);
    match tool::fields(&["tcp.analysis.flags", "tcp.time_delta"], &file.0) {
        Ok(frames) => {
            let flagged = frames.iter().filter(|frame| !frame[0].is_empty()).count();
            assert_eq!(flagged, 0, "of {} frames", frames.len());
        }
        Err(missing) => skip("wireshark_finds_nothing_sent_twice_where_nothing_was", missing),
    }
}

#[test]
fn the_same_run_gives_the_same_file() {
    let scenario = rough(Transfer::Serial, Policies::RFC);
    let files = [(); 2].map(|()| fs::read(&Temporary::capture(&scenario, CLIENT).0).unwrap());
    assert!(files[0] == files[1]);
}

#[test]
fn a_snap_length_leaves_headers_only() {
    let scenario = smooth(Transfer::Persistent, Policies::LINUX_6);
    let capture = |snap_length| {
        let mut capture = Capture::new(Vec::new(), snap_length, CLIENT).unwrap();
        run(&scenario, &mut capture).unwrap();
        capture.finish().unwrap()
    };
    assert_eq!(capture(96), capture(u32::MAX));
    let file = Temporary::new("snapped.pcap");
    let recording =
        Recording { pcap: Some(file.0.clone()), snap_length: 96, ..Recording::default() };
    record(&recording, &scenario).unwrap();
    let bytes = fs::metadata(&file.0).unwrap().len();
    assert!(bytes <= 24 + capture(96) * (16 + 96), "{bytes}");
}

/// One line for each event, in the order of time; the ACK line never goes back.
#[test]
fn sequence_numbers_over_time_are_those_of_tcpdump() {
    let file = Temporary::new("sequence.csv");
    let recording = Recording { time_sequence: Some(file.0.clone()), ..Recording::default() };
    record(&recording, &rough(Transfer::Persistent, Policies::LINUX_6)).unwrap();
    let text = fs::read_to_string(&file.0).unwrap();
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = rows.next().unwrap();
    let column = |name| columns.iter().position(|&column| column == name).unwrap();
    let number = |row: &[&str], name| row[column(name)].parse::<u64>().unwrap_or(0);
    let (mut latest, mut acks) = (0.0, BTreeMap::new());
    let mut retransmissions = 0;
    for row in rows {
        assert_eq!(row.len(), columns.len(), "{row:?}");
        let time: f64 = row[0].parse().unwrap();
        assert!(time >= latest, "{row:?}");
        latest = time;
        assert_eq!(number(&row, "seq_next") - number(&row, "seq_first"), number(&row, "len_bytes"));
        let window = number(&row, "win_bytes");
        assert!(window <= 4 << 20, "{row:?}");
        if row[column("event")] == "sent" && !row[column("flags")].contains('R') {
            let end = (row[column("connection")].to_owned(), row[column("from")].to_owned());
            let ack = acks.entry(end).or_insert(0);
            assert!(number(&row, "ack") >= *ack, "{row:?}");
            *ack = number(&row, "ack");
            retransmissions += number(&row, "retransmission");
        }
    }
    assert!(retransmissions > 0);
    assert_eq!(acks.len(), 2 * 6, "two users, three pages, a connection with two ends for each");
}

#[test]
fn what_cannot_be_recorded_says_why() {
    let scenario = smooth(Transfer::Serial, Policies::RFC);
    let nowhere = PathBuf::from("/nonexistent/out.pcap");
    let recording = Recording { pcap: Some(nowhere), ..Recording::default() };
    let error = Recorder::begin(&recording, &scenario).unwrap_err().to_string();
    assert_eq!(error, "cannot write /nonexistent/out.pcap: No such file or directory (os error 2)");
    let recording = Recording { vantage: Some("proxy".to_owned()), ..Recording::default() };
    let error = Recorder::begin(&recording, &scenario).unwrap_err().to_string();
    assert_eq!(error, "unknown host \"proxy\" (expected one of client, server)");
    let recording = Recording { pcap: Some("/dev/full".into()), ..Recording::default() };
    let error = record(&recording, &scenario).unwrap_err().to_string();
    assert!(error.starts_with("/dev/full: cannot write the capture after "), "{error}");
}

fn record(recording: &Recording, scenario: &Scenario) -> Result<(), RecordError> {
    let mut recorder = Recorder::begin(recording, scenario)?;
    let _ = run(scenario, &mut recorder);
    recorder.finish().map(drop)
}

/// A file that goes when the test ends.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let number = std::process::id();
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("test").to_owned();
        Self(std::env::temp_dir().join(format!("ackwise-{number}-{test}-{name}")))
    }

    fn capture(scenario: &Scenario, vantage: NodeId) -> Self {
        let file = Self::new("run.pcap");
        let name = scenario.nodes[vantage.0 as usize].name.clone();
        let pcap = Some(file.0.clone());
        record(&Recording { pcap, vantage: Some(name), ..Recording::default() }, scenario).unwrap();
        file
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
