//! The option list, from single bytes.

use std::vec::Vec;

use super::*;

fn options(bytes: &[u8]) -> Vec<Result<TcpOption<'_>, ParseError>> {
    OptionList::new(bytes).collect()
}

#[test]
fn unknown_options_are_skipped_by_their_length() {
    // MD5 signature (19), fast open (34), then MSS.
    let bytes = [1, 19, 3, 9, 34, 2, 2, 4, 2, 24, 0, 2, 4, 9, 9];
    assert_eq!(
        options(&bytes),
        [
            Ok(TcpOption::Unknown { kind: 19, data: &[9] }),
            Ok(TcpOption::Unknown { kind: 34, data: &[] }),
            Ok(TcpOption::Mss(536)),
        ]
    );
}

#[test]
fn experiments_keep_their_identifier() {
    let bytes = [253, 8, 0xf9, 0x89, 1, 2, 3, 4, 254, 3, 7];
    assert_eq!(
        options(&bytes),
        [
            Ok(TcpOption::Experimental { kind: 253, exid: 0xf989, data: &[1, 2, 3, 4] }),
            Ok(TcpOption::Unknown { kind: 254, data: &[7] }),
        ]
    );
}

#[test]
fn who_holds_time_wait_is_written_byte_by_byte() {
    for (holder, value) in [(TimeWaitHolder::Mine, 1), (TimeWaitHolder::Yours, 2)] {
        let segment = Segment { time_wait_holder: Some(holder), ..Segment::default() };
        let bytes = written(v4(), &segment);
        assert_eq!(bytes[40..], [1, 254, 7, b'T', b'W', b'N', b'G', value]);
        assert_eq!(parse(&bytes).unwrap().segment, segment);
    }
}

#[test]
fn an_experiment_that_is_not_ours_is_ignored() {
    let unknown: [&[u8]; 6] = [
        &[254, 7, b'T', b'W', b'N', b'G', 0], // A value that means nothing yet.
        &[254, 7, b'T', b'W', b'N', b'G', 3], // Another one.
        &[254, 6, b'T', b'W', b'N', b'G'],    // No value.
        &[254, 8, b'T', b'W', b'N', b'G', 1, 0], // More than a value.
        &[254, 7, b'T', b'W', b'N', b'H', 1], // Another experiment, with the same 16 bits.
        &[253, 7, b'T', b'W', b'N', b'G', 1], // The other kind for experiments.
    ];
    for bytes in unknown {
        let kept = options(bytes);
        assert!(matches!(kept[..], [Ok(TcpOption::Experimental { exid: 0x5457, .. })]), "{kept:?}");
        assert_eq!(OptionList::new(bytes).understood(), (Options::NONE, None), "{bytes:?}");
    }
}

#[test]
fn an_option_without_usable_length_ends_the_list_and_what_came_before_counts() {
    let cases: [(&[u8], ParseError); 4] = [
        (&[2, 4, 5, 180, 8, 0, 4, 2], ParseError::OptionLength { kind: 8, length: 0, at: 4 }),
        (&[2, 4, 5, 180, 8, 1, 4, 2], ParseError::OptionLength { kind: 8, length: 1, at: 4 }),
        (&[2, 4, 5, 180, 8, 10, 4, 2], ParseError::OptionOverrun { kind: 8, at: 4 }),
        (&[2, 4, 5, 180, 1, 1, 1, 8], ParseError::OptionOverrun { kind: 8, at: 7 }),
    ];
    for (bytes, error) in cases {
        assert_eq!(options(bytes), [Ok(TcpOption::Mss(1460)), Err(error)]);
        let understood = OptionList::new(bytes).understood();
        assert_eq!(understood, (Options { mss: Some(1460), ..Options::NONE }, None));
    }
}

#[test]
fn a_known_option_of_wrong_length_is_left_out() {
    let bytes = [2, 3, 5, 3, 2, 4, 3, 0, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9, 5, 2];
    let wrong = |kind, length, at| Err(ParseError::OptionLength { kind, length, at });
    let mut block = SackBlocks::default();
    block.push(SeqNumber(1), SeqNumber(9));
    assert_eq!(
        options(&bytes),
        [
            wrong(2, 3, 0),
            wrong(3, 2, 3),
            wrong(4, 3, 5),
            Ok(TcpOption::Sack(block)),
            wrong(5, 2, 18)
        ]
    );
    let understood = OptionList::new(&bytes).understood();
    assert_eq!(understood, (Options { sack: block, ..Options::NONE }, None));
}

fn sack_blocks(count: u32) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for block in 0..count {
        sack.push(SeqNumber(block * 20), SeqNumber(block * 20 + 10));
    }
    sack
}

#[test]
fn as_many_sack_blocks_as_fit_are_written() {
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    // Header words: the fixed ones, those of the timestamps, NOP NOP SACK, two for each block.
    for (timestamps, fitting, words) in [(None, 4, 5 + 1 + 8), (timestamps, 3, 5 + 3 + 1 + 6)] {
        let options = Options { timestamps, sack: sack_blocks(4), ..Options::NONE };
        let segment = Segment { options, ..Segment::default() };
        let bytes = written(v4(), &segment);
        let expected = Options { sack: sack_blocks(fitting), ..options };
        assert_eq!(parse(&bytes).unwrap().segment.options, expected);
        assert_eq!(bytes[32] >> 4, words);
        assert_eq!(segment.options_length(), u32::from(words - 5) * 4);
    }
}

#[test]
fn a_window_shift_above_14_counts_as_14() {
    for (written, understood) in [(0, 0), (14, 14), (15, 14), (32, 14), (255, 14)] {
        let bytes = [3, 3, written, 0];
        assert_eq!(options(&bytes), [Ok(TcpOption::WindowScale(written))]);
        let shift = OptionList::new(&bytes).understood().0.window_scale.unwrap();
        assert_eq!((shift.get(), shift), (understood, WindowShift::new(written)));
        assert_eq!(shift.bytes(3), 3 << understood);
    }
}
