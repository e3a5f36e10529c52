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

#[test]
fn a_response_that_is_captured_before_it_arrives_has_the_time_of_its_acknowledgement() {
    let after = |script| {
        let analysis = Streams::of_bodies(&[1_900, 1_000]).seen_as(script);
        let exchanges = analysis.exchanges.iter();
        exchanges.map(|it| it.acknowledged_after().map(|it| it.as_micros())).collect::<Vec<_>>()
    };
    let at_the_server = "
        0     > syn
        0.05  < syn
        100   > ack 0
        100.1 > 0:100 psh ack 0
        101   < 0:2000 psh ack 100
        350   > ack 2000
        400   > 100:200 psh ack 2000
        401   < 2000:3100 psh ack 200
        ";
    // The last of two segments leaves at 101.01 ms; nothing acknowledges the second response.
    assert_eq!(after(at_the_server), [Some(248_990), None]);
    let at_the_client = "
        0     > syn
        100   < syn
        100.1 > ack 0
        100.2 > 0:100 psh ack 0
        201   < 0:2000 psh ack 100
        201.1 > ack 2000
        300   > 100:200 psh ack 2000
        401   < 2000:3100 psh ack 200
        401.1 > ack 3100
        ";
    assert_eq!(after(at_the_client), [None, None]);
}
