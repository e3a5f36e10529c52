//! What a segment shows, by what was seen before: each condition once not met.

use ackwise_tcp::{Options, SackBlocks};

use super::*;

const FULL: u32 = 1_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// Both streams begin at 1; the client's first 1,000 bytes were seen, and nothing acknowledged.
fn ends() -> Ends {
    let mut ends = Ends::default();
    for half in &mut ends.halves {
        half.stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        half.stream.agree(FULL);
        half.packets = 1;
    }
    ends.handle_data(&data(1, FULL), Direction::ToServer, at(0), 1).unwrap();
    ends
}

fn data(seq: u32, len: u32) -> Segment {
    Segment { seq: SeqNumber(seq), ack: Some(SeqNumber(1)), len, ..Segment::default() }
}

fn ack(number: u32) -> Segment {
    Segment { seq: SeqNumber(1), ack: Some(SeqNumber(number)), ..Segment::default() }
}

fn sack(number: u32, left: u32, right: u32) -> Segment {
    let mut sack = SackBlocks::default();
    sack.push(SeqNumber(left), SeqNumber(right));
    Segment { options: Options { sack, ..Options::NONE }, ..ack(number) }
}

fn acknowledge(ends: &mut Ends, segment: &Segment, millis: u64) -> Option<Lost> {
    ends.handle_header(segment, Direction::ToClient, at(millis), 9)
}

#[test]
fn what_data_has_to_do_with_a_loss_follows_from_what_was_seen_before_it() {
    use Missing::{Earlier, JustBefore, Nothing};
    use Resolution::{Overtaken, SentAgain};
    // What came before, the data and when; whether it repairs and is new, what is missing, what it resolves.
    type Change = fn(&mut Ends);
    type Row = (&'static str, Change, Segment, u64, [bool; 2], Missing, Option<Resolution>);
    let hole: Change = |it| _ = it.handle_data(&data(2_001, FULL), Direction::ToServer, at(1), 2);
    let same: Change = |_| ();
    let acked: Change = |it| _ = acknowledge(it, &ack(1_001), 1);
    let rows: &[Row] = &[
        ("the next", same, data(1_001, FULL), 2, [false, true], Nothing, None),
        ("behind a hole", same, data(2_001, FULL), 2, [false, true], JustBefore, None),
        ("further behind it", hole, data(3_001, FULL), 2, [false, true], Earlier, None),
        ("seen before", same, data(1, FULL), 2, [true, false], Nothing, None),
        ("more than was seen", same, data(501, FULL), 2, [true, true], Nothing, None),
        ("more than was seen and heard", acked, data(501, FULL), 2, [false, true], Nothing, None),
        (
            "it fills the hole soon",
            hole,
            data(1_001, FULL),
            3,
            [false, true],
            Nothing,
            Some(Overtaken),
        ),
        ("later", hole, data(1_001, FULL), 4, [true, true], Nothing, Some(SentAgain)),
        ("a part of it", hole, data(1_001, 500), 3, [false, true], Earlier, Some(Overtaken)),
    ];
    for (why, before, segment, millis, [repairs, new], missing, resolution) in rows {
        let mut ends = ends();
        before(&mut ends);
        let found = ends.handle_data(segment, Direction::ToServer, at(*millis), 3).unwrap();
        assert_eq!((found.repairs, found.new), (*repairs, *new), "{why}");
        assert_eq!((found.missing, found.resolution), (*missing, *resolution), "{why}");
    }
}

/// What the server had, delays nothing if it is sent again.
#[test]
fn what_was_acknowledged_and_is_sent_again_to_a_server_has_no_time() {
    for (direction, seq, number, has_gap) in [
        (Direction::ToServer, 1, 1_001, false),
        (Direction::ToServer, 1, 1_000, true),
        (Direction::ToServer, 1_001, 1_001, true),
        (Direction::ToClient, 1, 1_001, true),
    ] {
        let mut ends = ends();
        if direction == Direction::ToClient {
            ends.handle_data(&data(1, FULL), direction, at(0), 2).unwrap();
        }
        ends.handle_header(&ack(number), direction.opposite(), at(1), 3);
        let found = ends.handle_data(&data(seq, FULL), direction, at(400), 4).unwrap();
        assert_eq!(found.gap.is_some(), has_gap, "{direction:?} {seq} {number}");
        assert_eq!(found.repairs, has_gap && seq == 1, "{direction:?} {seq} {number}");
    }
    let mut ends = ends();
    acknowledge(&mut ends, &ack(1_001), 1);
    let keep_alive = ends.handle_data(&data(1_000, 1), Direction::ToServer, at(2), 3);
    assert!(keep_alive.is_none());
}

#[test]
fn an_acknowledgement_is_heard_that_tells_something_or_repeats_itself_while_data_is_on_its_way() {
    // Whether the sender was told of it.
    let heard = |before: &[Segment], segment: &Segment| {
        let mut ends = ends();
        for segment in before {
            ends.handle_ack(segment, Direction::ToClient, at(1), 8);
        }
        let told = |ends: &Ends| format!("{:?}", ends.half(Direction::ToServer).sender);
        let earlier = told(&ends);
        ends.handle_ack(segment, Direction::ToClient, at(2), 9);
        told(&ends) != earlier
    };
    let with_data = |number, len| Segment { len, ..ack(number) };
    let window = |number, window| Segment { window, len: 1, ..ack(number) };
    for (why, before, segment, is_heard) in [
        ("the first", &[][..], with_data(1, 10), true),
        ("new data", &[ack(1)], with_data(2, 10), true),
        ("a repeated one", &[ack(1)], ack(1), true),
        ("with data", &[ack(1)], with_data(1, 10), false),
        ("while nothing is on its way", &[ack(1_001)], ack(1_001), false),
        ("a larger window", &[ack(1)], window(1, 5), true),
        ("a smaller one", &[window(1, 5)], window(1, 4), false),
    ] {
        assert_eq!(heard(before, &segment), is_heard, "{why}");
    }
}

#[test]
fn what_is_acknowledged_and_was_not_seen_was_lost_by_the_capture() {
    let lost = |number: u32| {
        let mut ends = ends();
        let lost = acknowledge(&mut ends, &ack(number), 1).map(|it| it.position);
        let gap = ends.handle_data(&data(number, FULL), Direction::ToServer, at(2), 3);
        (lost, gap.unwrap().gap.unwrap().capture_lost_data)
    };
    assert_eq!(lost(1_001), (None, false));
    assert_eq!(lost(1_003), (Some(1_002), true));
    // A hole within what was seen.
    let mut ends = ends();
    ends.handle_data(&data(2_001, FULL), Direction::ToServer, at(1), 2).unwrap();
    assert_eq!(acknowledge(&mut ends, &ack(1_001), 2), None);
    assert_eq!(acknowledge(&mut ends, &ack(1_002), 2).map(|it| it.position), Some(1_001));
    let gap = ends.handle_data(&data(3_001, FULL), Direction::ToServer, at(3), 3).unwrap();
    assert!(!gap.gap.unwrap().capture_lost_data, "nothing beyond it");
}

#[test]
fn a_partial_acknowledgement_is_one_of_new_data_while_more_is_on_its_way() {
    for (number, partial) in [(501, (500, 500)), (1_001, (0, 0)), (1, (0, 0))] {
        let mut ends = ends();
        acknowledge(&mut ends, &ack(number), 1);
        let found = format!("{:?}", ends.halves[0].sizes);
        let expected = format!("partial: ({}, {})", partial.0, partial.1);
        assert!(found.contains(&expected), "{number}: {found}");
    }
}

/// RFC 2883, section 4.
#[test]
fn a_duplicate_is_reported_by_a_first_block_below_the_acknowledgement() {
    for (segment, is_one) in [
        (sack(1_001, 1, 1_001), true),
        (sack(1_001, 1, 501), true),
        (sack(1_001, 1_002, 1_003), false),
        (ack(1_001), false),
        (Segment { ack: None, ..sack(1_001, 1, 501) }, false),
    ] {
        assert_eq!(reports_duplicate(&segment), is_one, "{segment:?}");
    }
}

#[test]
fn what_comes_three_quarters_of_a_round_trip_later_was_sent_again() {
    for (round_trip, least) in [(0, 3_000), (20_000, 15_000), (1, 0)] {
        let found = reordering(Nanos::from_micros(round_trip));
        assert_eq!(found, Nanos::new(if round_trip == 1 { 750 } else { least * 1_000 }));
    }
}

#[test]
fn the_capture_lacks_acknowledgements_if_several_answers_had_a_packet_missing_before_them() {
    for (pure_acks, skipped, lacks) in [(0, 2, true), (0, 1, false), (1, 2, false), (0, 3, true)] {
        let half = Half { pure_acks, skipped, ..Half::default() };
        assert_eq!(half.lacks_pure_acks(), lacks, "{pure_acks} {skipped}");
    }
    // An answer, before which a number seems to be skipped.
    for (direction, number, skipped) in
        [(Direction::ToClient, 2, 1), (Direction::ToClient, 1, 0), (Direction::ToServer, 2, 0)]
    {
        let mut ends = ends();
        let half = &mut ends.halves[direction as usize];
        half.serial.see(0, 1);
        half.serial.see(number, 1);
        ends.may_skip_ack(direction);
        assert_eq!(ends.half(direction).skipped, skipped, "{direction:?} {number}");
    }
}

#[test]
fn a_connection_is_over_when_both_ends_know_of_both_fins_or_by_an_rst() {
    let closed = |fins: [Option<u64>; 2], acked: [u32; 2]| {
        let mut ends = ends();
        for (place, (fin, acked)) in fins.into_iter().zip(acked).enumerate() {
            ends.halves[place].fin = fin;
            ends.halves[place].stream.acknowledge(&ack(acked), None);
        }
        ends
    };
    for (fins, acked, over, closing) in [
        ([Some(1_000), Some(0)], [1_002, 2], true, true),
        ([Some(1_000), Some(0)], [1_001, 2], false, true),
        ([Some(1_000), Some(0)], [1_002, 1], false, true),
        ([Some(1_000), None], [1_002, 2], false, true),
        ([None, None], [1_001, 1], false, false),
    ] {
        let mut ends = closed(fins, acked);
        assert_eq!((ends.is_over(), ends.is_closing()), (over, closing), "{fins:?} {acked:?}");
        ends.swapped = true;
        assert!(ends.is_over());
        assert_eq!(ends.is_closing(), closing);
        (ends.swapped, ends.reset) = (false, true);
        assert!(ends.is_over() && ends.is_closing());
    }
}

#[test]
fn time_wait_is_handed_over_by_an_rst_after_both_fins() {
    let fins = |ends: &mut Ends, directions: &[Direction]| {
        for &direction in directions {
            let fin = Segment { seq: SeqNumber(1_001), flags: Flags::FIN, ..Segment::default() };
            ends.handle_fin(&fin, direction, 5, at(5));
        }
    };
    let (to_server, to_client) = (Direction::ToServer, Direction::ToClient);
    let mut ends = ends();
    fins(&mut ends, &[to_server]);
    assert_eq!((ends.swap(to_server), ends.both_closed()), (None, false));
    fins(&mut ends, &[to_client]);
    assert_eq!((ends.swap(to_server), ends.both_closed()), (Some(SeqNumber(1_002)), true));
    ends.reset = true;
    assert_eq!(ends.swap(to_server), None);
}

#[test]
fn both_directions_are_whole_if_both_were_seen_and_nothing_is_missing() {
    let mut ends = ends();
    assert!(ends.are_whole());
    ends.halves[1].packets = 0;
    assert!(!ends.are_whole());
    ends.halves[1].packets = 1;
    acknowledge(&mut ends, &ack(1_003), 1);
    assert!(!ends.are_whole());
}

#[test]
fn a_connection_without_a_syn_begins_in_its_middle() {
    let in_doubt = |segment: &Segment, packets: u32, known: bool| {
        let mut ends = Ends::default();
        ends.halves[1].packets = packets;
        if known {
            ends.distances.sample(Direction::ToServer, Nanos::from_millis(20));
        }
        ends.handle_header(segment, Direction::ToServer, at(0), 1);
        (ends.begins_in_middle, ends.distances.is_in_doubt(Direction::ToServer))
    };
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    assert_eq!(in_doubt(&ack(1), 0, false), (true, true));
    assert_eq!(in_doubt(&ack(1), 0, true), (true, false), "the survey has confirmed it");
    assert_eq!(in_doubt(&ack(1), 1, false), (false, false));
    assert_eq!(in_doubt(&syn, 0, false), (false, false));
}

#[test]
fn acknowledgements_without_data_are_counted_and_data_that_is_too_long() {
    let count = |segment: Segment| {
        let mut ends = ends();
        ends.halves[0].mss = Some(1_000);
        ends.halves[0].run = 500;
        ends.count(&segment, Direction::ToClient);
        (ends.halves[1].pure_acks, ends.halves[1].oversized, ends.halves[0].run)
    };
    assert_eq!(count(ack(1)), (1, 0, 0));
    assert_eq!(count(data(1, 1_000)), (0, 0, 0));
    assert_eq!(count(data(1, 1_001)), (0, 1, 0));
    for flags in [Flags::SYN, Flags::FIN, Flags::RST] {
        assert_eq!(count(Segment { flags, ..ack(1) }), (0, 0, 0), "{flags:?}");
    }
}

#[test]
fn a_syn_agrees_on_the_size_of_segments_and_on_scales() {
    let agreed = |[client, server]: [Option<u16>; 2], [one, other]: [bool; 2], sack: bool| {
        let mut ends = Ends::default();
        for (direction, mss, timestamps) in
            [(Direction::ToServer, client, one), (Direction::ToClient, server, other)]
        {
            let options = Options {
                mss,
                timestamps: timestamps.then_some(Timestamps { value: 1, echo: 0 }),
                sack_permitted: sack,
                ..Options::NONE
            };
            let ack = (direction == Direction::ToClient).then_some(SeqNumber(1));
            let syn = Segment { flags: Flags::SYN, options, ack, ..Segment::default() };
            ends.handle_syn(&syn, direction);
        }
        ends.half(Direction::ToServer).stream.segment_size()
    };
    assert_eq!(agreed([Some(1_460), Some(1_400)], [false; 2], true), 1_400);
    assert_eq!(agreed([Some(1_300), Some(1_400)], [true, true], true), 1_288);
    assert_eq!(agreed([Some(1_300), Some(1_400)], [true, false], true), 1_300);
    assert_eq!(agreed([None, Some(1_400)], [true, true], false), 0);
    // RFC 7323, section 2.2: an answer without a window scale takes the client's back.
    use ackwise_tcp::WindowShift;
    for (ack, scale, kept) in [
        (Some(SeqNumber(1)), None, false),
        (Some(SeqNumber(1)), Some(WindowShift::new(3)), true),
        (None, None, true),
    ] {
        let mut ends = Ends::default();
        let options = Options { window_scale: Some(WindowShift::new(7)), ..Options::NONE };
        let syn = Segment { flags: Flags::SYN, options, ..Segment::default() };
        ends.handle_syn(&syn, Direction::ToServer);
        let options = Options { window_scale: scale, ..Options::NONE };
        ends.handle_syn(&Segment { options, ack, ..syn }, Direction::ToClient);
        let shift = ends.half(Direction::ToServer).stream.shift();
        assert_eq!(shift == Some(WindowShift::new(7)), kept, "{ack:?} {scale:?}");
    }
}

#[test]
fn an_answer_that_was_not_captured_is_seen_by_what_the_client_reports() {
    let shows = |segment: &Segment| ends().shows_unseen_answer(segment);
    assert!(shows(&sack(1, 2, 3)));
    assert!(!shows(&sack(1, 1, 2)), "a FIN");
    assert!(!shows(&ack(1)));
}

#[test]
fn a_segment_repeats_an_acknowledgement_that_has_data_and_tells_nothing_else() {
    let mut known = ends();
    acknowledge(&mut known, &ack(1), 1);
    let answer = data(1, 10);
    let repeats = |ends: &Ends, it: &Segment| ends.repeats_acknowledgement(it, Direction::ToClient);
    assert!(repeats(&known, &answer));
    assert!(!repeats(&known, &Segment { len: 0, ..answer }), "without data");
    assert!(!repeats(&known, &Segment { ack: Some(SeqNumber(2)), ..answer }));
    assert!(!repeats(&known, &Segment { len: 10, ..sack(1, 1, 2) }));
    assert!(!repeats(&ends(), &answer), "no window is known");
}

#[test]
fn a_segment_is_next_if_nothing_is_missing_before_it() {
    for (seq, is_next) in [(1_000, true), (1_001, true), (1_002, false)] {
        assert_eq!(ends().is_next(&data(seq, 1), Direction::ToServer), is_next, "{seq}");
    }
    assert!(Ends::default().is_next(&data(9, 1), Direction::ToServer), "nothing is known");
}

#[test]
fn an_acknowledgement_says_what_its_receiver_lacked_or_kept() {
    let acknowledgement = |segment: &Segment, change: fn(&mut Ends)| {
        let mut ends = ends();
        change(&mut ends);
        let it = ends.acknowledgement(segment, Direction::ToClient, 1_000, at(9), 9);
        (it.is_pure, it.lost_before, it.unread)
    };
    let same: fn(&mut Ends) = |_| ();
    // A number that its sender has counted is missing.
    let skipped: fn(&mut Ends) = |ends| {
        let serial = &mut ends.halves[1].serial;
        for number in [0, 1, 2, 3, 5] {
            serial.see(number, 1);
            if number == 3 {
                serial.take_skipped();
            }
        }
    };
    assert_eq!(acknowledgement(&ack(1_001), same), (true, false, true));
    assert_eq!(acknowledgement(&data(1, 10), same), (false, false, false));
    let fin = Segment { flags: Flags::FIN, ..ack(1_001) };
    assert_eq!(acknowledgement(&fin, same), (false, false, false));
    assert_eq!(acknowledgement(&data(1, 10), skipped), (false, true, false));
    assert_eq!(acknowledgement(&ack(1_001), skipped), (true, false, true), "without data");
}

/// The first segments are looked at twice: what they show of the path is known when they are judged.
#[test]
fn a_survey_times_the_data_that_is_acknowledged_in_it() {
    let (to_server, to_client) = (Direction::ToServer, Direction::ToClient);
    for (why, segments, round_trip) in [
        ("data", &[(data(1, FULL), to_server, 0), (ack(1_001), to_client, 20)][..], Some(20)),
        ("nothing", &[(data(1, 0), to_server, 0), (ack(1_001), to_client, 20)], None),
    ] {
        let mut warm_up = WarmUp::default();
        for (number, (segment, direction, millis)) in (1..).zip(segments) {
            let packet = Packet {
                number,
                at: at(*millis),
                interface: 0,
                identification: 0,
                hop_limit: 64,
                segment,
                payload: &[],
            };
            warm_up.add(&packet, *direction);
        }
        let mut trial = Ends::default();
        let found = trial.survey(&warm_up).distances.round_trip(to_server);
        assert_eq!(found, round_trip.map(Nanos::from_millis), "{why}");
        assert_eq!(format!("{trial:?}"), format!("{:?}", Ends::default()), "it notes nothing");
    }
}
