//! Figures of a connection: round trips, windows, reordering.

use std::time::Duration;

use crate::wire::Streams;

#[test]
fn a_connection_has_its_round_trips_windows_and_reordering() {
    let analysis = Streams::of_bodies(&[5_840]).seen_as(
        r#"
        0     > syn
        20    < syn
        20.1  > ack 0
        20.2  > 0:100 psh ack 0 win 8000
        41.2  < ack 100
        42    < 0:1460 ack 100
        42.05 > ack 1460 win 0
        42.06 > ack 1460 win 0
        62    < ack 100 win 30000
        63    > ack 1460 win 8000
        84    < 2920:4380 ack 100
        84.1  < 1460:2920 ack 100
        84.2  > ack 4380 win 0
        90    > ack 4380 win 9000
        111   < 4380:5840 ack 100
        111.1 > ack 5840
        450   < 4380:5840 ack 100
        470   < 5840:5940 psh ack 100
        470.1 > ack 5940
        "#,
    );
    let measures = analysis.connections[0].measures();
    let [Some(to_server), Some(to_client)] = measures.round_trips else { panic!("{measures:?}") };
    // The SYN's and the request's.
    assert_eq!((to_server.samples(), to_server.least()), (2, Duration::from_millis(20)));
    assert_eq!(to_server.p95(), Duration::from_millis(21));
    // The SYN's, that of 1460, one of the next two, and the last.
    assert_eq!(to_client.samples(), 5);
    assert_eq!([to_client.least(), to_client.median()], [50, 100].map(Duration::from_micros));
    assert_eq!(measures.reordered, [0, 1]);
    let [Some(client), Some(server)] = measures.windows else { panic!("{measures:?}") };
    assert_eq!((client.smallest, client.largest, client.closed), (0, 65_535, 2));
    assert_eq!((server.smallest, server.largest, server.closed), (30_000, 65_535, 0));
}

#[test]
fn windows_without_their_scale_are_unknown() {
    let analysis = Streams::of_bodies(&[1_000]).seen_as(
        "
        20.2 > 0:100 psh ack 0 win 8000
        42   < 0:1100 psh ack 100
        42.1 > ack 1100
        ",
    );
    assert_eq!(analysis.connections[0].measures().windows, [None, None]);
}
