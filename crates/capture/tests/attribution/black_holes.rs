//! Paths that drop full segments and pass smaller ones, and what looks like it.

use crate::wire::Streams;

/// The way of a response of 4,480 bytes behind `rest`: size, copies sent, and the largest that passes.
fn found(rest: &str) -> Option<(u32, Option<u8>, Option<u32>)> {
    let capture = format!(
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        {rest}
        "#
    );
    let analysis = Streams::of_bodies(&[4_380]).seen_as(&capture);
    let it = analysis.connections[0].black_hole.as_deref()?;
    Some((it.size, it.sends, it.passes))
}

#[test]
fn at_the_sender_copies_of_a_full_segment_are_not_acknowledged_and_a_smaller_one_is() {
    let sent = "21 < 0:4480 psh ack 100";
    let tail = "41 > ack 0 sack 4380:4480";
    let copies = "261 < 0:1460 ack 100\n661 < 0:1460 ack 100";
    for (name, packets, expected) in [
        ("both", format!("{sent}\n{tail}\n{copies}"), Some((1_460, Some(3), Some(100)))),
        ("one copy", format!("{sent}\n{tail}\n261 < 0:1460 ack 100"), None),
        // As much as a full segment got through behind it.
        ("others", format!("{sent}\n41 > ack 0 sack 2920:4480\n{copies}"), None),
        // Nothing shows a smaller one, but nothing has got through yet either.
        ("nothing", format!("{sent}\n{copies}"), Some((1_460, Some(3), None))),
        ("repaired", format!("{sent}\n{tail}\n{copies}\n681 > ack 1460 sack 4380:4480"), None),
        (
            "repaired in smaller segments",
            format!(
                "{sent}\n{tail}\n{copies}\n1461 < 0:1000 ack 100\n1481 > ack 1000 sack 4380:4480"
            ),
            None,
        ),
    ] {
        assert_eq!(found(&packets), expected, "{name}");
    }
}

#[test]
fn at_the_receiver_full_segments_are_missing_for_long_and_smaller_ones_are_there() {
    let end = "5000 > fin ack 0 sack 4380:4480";
    for (name, packets, expected) in [
        ("all full ones", format!("41 < 4380:4480 psh ack 100\n{end}"), Some(Some(100))),
        ("one is there", format!("41 < 2920:4480 psh ack 100\n{end}"), None),
        ("repaired", format!("41 < 4380:4480 psh ack 100\n300 < 0:4380 ack 100\n{end}"), None),
        ("of another length", format!("41 < 4000:4480 psh ack 100\n{end}"), None),
    ] {
        assert_eq!(found(&packets).map(|it| it.2), expected, "{name}");
    }
}
