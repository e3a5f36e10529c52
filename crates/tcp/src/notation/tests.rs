//! Lines of text and segments, both ways.

use std::{format, string::ToString};

use proptest::prelude::*;

use super::*;
use crate::{
    endpoint::Event,
    segment::{Flags, TimeWaitHolder, Timestamps, WindowShift},
    units::Instant,
};

const ISNS: Isns = Isns { sender: SeqNumber(1000), receiver: SeqNumber(u32::MAX - 99) };

fn pattern(line: &str) -> Pattern {
    line.parse().unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn lines_read_as_tcpdump_writes_them() {
    let lines = [
        "S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1 ecr 0,wscale 7>",
        "S. 0:0(0) ack 1 win 65535 <mss 536>",
        "P. 1:501(500) ack 1 win 512",
        ". 501:501(0) ack 501 win 512 <TS val 2 ecr 9,sack 1001:1501 2001:2501>",
        "FP. 1:501(500) ack 1 win 0",
        "R 1:1(0) win 0",
        "U. 1:2(1) ack 1 win 1",
        "- 1:2(1) win 1",
    ];
    for line in lines {
        let segment = pattern(line).segment(ISNS, SeqNumber(0), 0);
        assert_eq!(ISNS.relative(&segment).to_string(), line);
        assert!(pattern(line).matches(&segment, ISNS));
    }
}

#[test]
fn numbers_count_from_the_initial_ones_around_the_circle() {
    let segment = pattern(". 1:101(100) ack 201").segment(ISNS, SeqNumber(0), 7);
    assert_eq!(segment.seq, SeqNumber(1001));
    assert_eq!(segment.ack, Some(SeqNumber(101)));
    assert_eq!(ISNS.reversed().reversed(), ISNS);
}

#[test]
fn what_a_line_leaves_out_may_be_anything() {
    let segment = Segment {
        seq: SeqNumber(1501),
        ack: Some(ISNS.receiver + 501),
        window: 77,
        options: Options { timestamps: Some(Timestamps::default()), ..Options::NONE },
        ..Segment::default()
    };
    assert!(pattern(". ack 501").matches(&segment, ISNS));
    assert!(!pattern(". ack 502").matches(&segment, ISNS));
    assert!(!pattern(". ack 501 <>").matches(&segment, ISNS), "options are asked to be absent");
    assert!(!pattern(". ack 501 win 78").matches(&segment, ISNS));
    assert!(!pattern("P. ack 501").matches(&segment, ISNS));
    let with_data = Segment { len: 1, ..segment };
    assert!(!pattern(". ack 501").matches(&with_data, ISNS));
    let filled = pattern(". ack 501").segment(ISNS, SeqNumber(1501), 77);
    assert_eq!(filled, Segment { options: Options::NONE, ..segment });
}

#[test]
fn an_error_says_where_and_what_was_expected() {
    for (line, at, expected) in [
        ("", 0, "control bits out of FSRPU. or -"),
        ("X 1:1(0)", 0, "control bits out of FSRPU. or -"),
        ("P 1:500(500)", 4, "the sequence number plus the bytes of data"),
        ("P 1-501", 3, ":"),
        (". 1:1(0) win 5", 9, "ack"),
        (". ack 4294967296", 6, "a number that fits its field"),
        (". ack 1 win 65536", 12, "a number that fits its field"),
        ("S 0:0(0) <mss 1460,cookie>", 19, "an option: mss, sackOK, TS, wscale, TW, sack or nop"),
        ("S 0:0(0) <mss 1460", 18, ">"),
        (". ack 1 <sack 1:2 3:4 5:6 7:8 9:10>", 30, "at most four sack blocks"),
        (". ack 1 win 1 urgent", 14, "the end of the line"),
    ] {
        let error = line.parse::<Pattern>().unwrap_err();
        assert_eq!(error, NotationError { at, expected }, "{line}");
    }
    assert_eq!(
        ". ack".parse::<Pattern>().unwrap_err().to_string(),
        "expected a number that fits its field at byte 5"
    );
}

#[test]
fn a_trace_prints_a_line_for_each_thing_and_forgets_the_oldest() {
    let mut trace = Trace::with_limit(3);
    let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
    let segment =
        ISNS.relative(&pattern("P. 1:501(500) ack 1 win 512").segment(ISNS, SeqNumber(0), 0));
    trace.record(TraceEvent::Called(Call::Connect), at(0));
    trace.record(TraceEvent::Told(Event::Connected), at(5));
    trace.record(TraceEvent::Sent(segment), at(10));
    trace.record(TraceEvent::Received(segment), at(1_012));
    assert_eq!(
        trace.to_string(),
        "# 1 earlier lines are forgotten\n\
         0.005000 event connected\n\
         0.010000 > P. 1:501(500) ack 1 win 512\n\
         1.012000 < P. 1:501(500) ack 1 win 512\n"
    );
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let flags = any::<(bool, bool, bool, bool, bool)>()
        .prop_map(|(syn, fin, rst, psh, urg)| Flags { syn, fin, rst, psh, urg });
    let timestamps = any::<Option<(u32, u32)>>();
    let holder = proptest::sample::select(std::vec![
        None,
        Some(TimeWaitHolder::Mine),
        Some(TimeWaitHolder::Yours)
    ]);
    let options = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), timestamps, holder);
    let blocks = proptest::collection::vec(any::<(u32, u32)>(), 0..=4);
    let numbers = any::<(u32, Option<u32>, u16, u32)>();
    (numbers, flags, options, blocks).prop_map(|(numbers, flags, options, blocks)| {
        let (seq, ack, window, len) = numbers;
        let (mss, window_scale, sack_permitted, timestamps, time_wait_holder) = options;
        let window_scale = window_scale.map(WindowShift::new);
        let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|&(left, right)| sack.push(SeqNumber(left), SeqNumber(right)));
        Segment {
            seq: SeqNumber(seq),
            ack: ack.map(SeqNumber),
            flags,
            window,
            options: Options { mss, window_scale, sack_permitted, timestamps, sack },
            time_wait_holder,
            len,
        }
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(segment in any_segment(), sender: u32, receiver: u32) {
        let isns = Isns { sender: SeqNumber(sender), receiver: SeqNumber(receiver) };
        let line = isns.relative(&segment).to_string();
        let read = pattern(&line);
        prop_assert_eq!(read.segment(isns, SeqNumber(0), 0), segment, "{}", line);
        prop_assert!(read.matches(&segment, isns));
    }

    #[test]
    fn random_lines_never_panic(line in "[FSRPU.\\-0-9:()<>, a-zTKé]{0,60}") {
        let _ = line.parse::<Pattern>();
        let _ = format!(". {line}").parse::<Pattern>();
    }
}
