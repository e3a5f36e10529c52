//! Several files, compressed ones, and pipes.

use std::{
    fs,
    io::{Cursor, Write},
    path::PathBuf,
    sync::mpsc,
    time::Duration,
};

use ackwise_capture::read::{Problem, Source, Unread};
use flate2::{Compression, write::GzEncoder};

use crate::hand_made::{Order, all, enhanced, frames, interface, pcap, section};

/// A directory that goes when the test does.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ackwise-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn at_seconds(seconds: &[u32]) -> Vec<u8> {
    let packets: Vec<_> = seconds.iter().map(|&s| (s, 0, 1, &b"x"[..])).collect();
    pcap(Order::Little, 0xa1b2_c3d4, 1, &packets)
}

#[test]
fn files_come_in_order_of_time_whatever_the_order_of_names() {
    let scratch = Scratch::new("order");
    let files = [
        scratch.file("late", &at_seconds(&[7, 8])),
        scratch.file("early", &at_seconds(&[1, 5])),
        scratch.file("nothing", &at_seconds(&[])),
        scratch.file("between", &at_seconds(&[2, 6])),
    ];
    let mut source = Source::open(&files);
    let (frames, errors) = all(&mut source);
    assert!(errors.is_empty(), "{}", errors[0]);
    let seen: Vec<_> =
        frames.iter().map(|frame| (frame.number, frame.nanos / 1_000_000_000)).collect();
    assert_eq!(seen, [(1, 1), (2, 2), (3, 5), (4, 6), (5, 7), (6, 8)]);
    // "early" and "between" overlap, so they are two interfaces; "late" is one of them again.
    let interfaces: Vec<_> = frames.iter().map(|frame| frame.interface).collect();
    assert_eq!(interfaces, [0, 1, 0, 1, 0, 0]);
    assert_eq!(source.interfaces().len(), 2);
}

#[test]
fn any_number_of_files_one_after_the_other_is_one_interface() {
    let scratch = Scratch::new("rotated");
    let order = Order::Little;
    let files: Vec<_> = (0..100_u64)
        .map(|n| {
            let packet = enhanced(order, 0, n * 1_000, 1, b"x", &[]);
            let file = [section(order), interface(order, 1, 0, &[(2, b"eth0")]), packet].concat();
            scratch.file(&n.to_string(), &file)
        })
        .collect();
    let mut source = Source::open(files.iter().rev());
    let (frames, errors) = all(&mut source);
    assert!(errors.is_empty(), "{}", errors[0]);
    assert!(frames.iter().map(|frame| frame.nanos / 1_000_000).eq(0..100));
    assert_eq!(source.interfaces().len(), 1);
}

#[test]
fn a_broken_file_does_not_concern_the_others() {
    let scratch = Scratch::new("broken");
    let whole = at_seconds(&[1, 2, 3]);
    let files = [
        scratch.file("cut", &whole[..whole.len() - 1]),
        scratch.0.join("missing"),
        scratch.file("text", b"This is no capture."),
        scratch.file("whole", &whole),
        scratch.0.clone(),
    ];
    let (frames, errors) = all(&mut Source::open(&files));
    let seconds: Vec<_> = frames.iter().map(|frame| frame.nanos / 1_000_000_000).collect();
    assert_eq!(seconds, [1, 1, 2, 2, 3]);
    let mut broken: Vec<_> = errors.iter().map(|error| error.file.clone()).collect();
    broken.sort();
    let mut expected = vec![files[0].clone(), files[1].clone(), files[2].clone(), files[4].clone()];
    expected.sort();
    assert_eq!(broken, expected);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[test]
fn compressed_files_are_read_even_if_they_were_compressed_in_pieces() {
    let file = at_seconds(&(0..5_000).collect::<Vec<_>>());
    let expected = frames(&file);
    for compress in [gzip, zstandard] {
        assert_eq!(frames(&compress(&file)), expected);
        let (first, second) = file.split_at(file.len() / 3);
        assert_eq!(frames(&[compress(first), compress(second)].concat()), expected);
    }
}

#[test]
fn of_a_compressed_file_that_is_cut_off_everything_before_is_read() {
    // Incompressible, so that a part of the file is a part of the packets.
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    let packets: Vec<Vec<u8>> = (0..2_000).map(|_| (0..200).map(|_| noise()).collect()).collect();
    let packets: Vec<_> = packets.iter().map(|packet| (1, 0, 200, &packet[..])).collect();
    let file = pcap(Order::Big, 0xa1b2_c3d4, 1, &packets);
    for compress in [gzip, zstandard] {
        let compressed = compress(&file);
        let half = &compressed[..compressed.len() / 2];
        let (kept, errors) = all(&mut Source::of("half", Cursor::new(half.to_vec())));
        assert!((400..=1_000).contains(&kept.len()), "{} of 2000 packets", kept.len());
        assert!(matches!(errors[..], [_]), "{errors:?}");
        assert!(matches!(errors[0].problem, Problem::Input(_) | Problem::CutOff { .. }));
    }
}

#[test]
fn a_compressed_file_without_a_whole_packet_is_read_and_cut_off() {
    let file = at_seconds(&[1]);
    for (compress, unit) in
        [(gzip as fn(&[u8]) -> Vec<u8>, "gzip stream"), (zstandard, "zstd frame")]
    {
        let compressed = compress(&file);
        let begun = compressed[..compressed.len() / 2].to_vec();
        let (kept, errors) = all(&mut Source::of("begun", Cursor::new(begun)));
        assert!(kept.is_empty());
        assert_eq!(errors[0].to_string(), format!("cannot read begun: the {unit} is cut off"));
        assert_eq!(errors[0].unread(), Unread::Whole);
    }
}

#[test]
fn only_what_cannot_be_opened_is_said_to_be_so() {
    let scratch = Scratch::new("opened");
    let (_, errors) = all(&mut Source::open([scratch.0.join("missing")]));
    assert!(errors[0].to_string().starts_with("cannot open "), "{}", errors[0]);
    let (_, errors) = all(&mut Source::open([&scratch.0]));
    assert!(errors[0].to_string().starts_with("cannot read "), "{}", errors[0]);
}

#[test]
fn an_error_says_what_of_the_file_is_not_read() {
    let file = at_seconds(&[1]);
    let long = [&file[..], &[0; 8], &[0xff; 8]].concat();
    for (bytes, expected) in [
        (&file[..20], Unread::Whole),
        (b"GIF89a", Unread::Whole),
        (&file[..30], Unread::End),
        (&file[..file.len() - 1], Unread::End),
        (&long, Unread::Rest),
    ] {
        let (_, errors) = all(&mut Source::of("file", Cursor::new(bytes.to_vec())));
        assert_eq!(errors[0].unread(), expected, "{}", errors[0]);
    }
}

/// A packet is handed on while the writer is still there: what comes next may take hours.
#[test]
fn a_live_pipe_gives_each_packet_when_it_comes() {
    for compressed in [false, true] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (send, receive) = mpsc::channel();
        let reading = std::thread::spawn(move || {
            let mut source = Source::of("-", reader);
            while let Some(frame) = source.next().unwrap() {
                send.send(frame.number).unwrap();
            }
        });
        let file = at_seconds(&[1, 2]);
        let (first, second) = file.split_at(file.len() - 17);
        for (number, part) in [(1, first), (2, second)] {
            if compressed {
                writer.write_all(&gzip(part)).unwrap();
            } else {
                writer.write_all(part).unwrap();
            }
            assert_eq!(receive.recv_timeout(Duration::from_secs(30)), Ok(number));
        }
        drop(writer);
        reading.join().unwrap();
    }
}
