//! What comes late: at a distant capture point, it need not have left late.

use crate::{shows, wire::Streams};

/// The client delays its ACKs by 40 ms. The server's second write follows the first such ACK after a round trip, and
/// the second ACK 5 ms later than that: as late as a path that varies makes it.
#[test]
fn a_segment_that_the_path_made_late_still_waited_for_the_ack() {
    shows(
        &Streams::of_bodies(&[500, 500]),
        r#"
        0      > syn ts 1000
        20     < syn ts 5000
        20.1   > ack 0 ts 1020
        20.2   > 0:100 psh ack 0 ts 1020
        41     < 0:100 psh ack 100 ts 5021
        81     > ack 100 ts 1081
        101.05 < 100:600 psh ack 100 ts 5081
        101.1  > ack 600 ts 1101
        120    > 100:200 psh ack 600 ts 1120
        140.5  < 600:700 psh ack 200 ts 5120
        181    > ack 700 ts 1181
        206    < 700:1200 psh ack 200 ts 5186
        206.1  > ack 1200 ts 1206
        "#,
        r#"
        handshake to-server 20.075 (1, 20.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        nagle-rtt to-client 20.100 (2, 10.075) high: 5 6 7
        nagle-delayed-ack to-client 39.950 (1, 39.950) high: 5 6 7
        propagation to-client 10.000 (1, 10.000) high: 7
        propagation to-server 10.000 (1, 10.000) high: 9
        server-think to-client 0.500 (1, 0.500) high: 9 10
        nagle-rtt to-client 25.050 (2, 15.025) medium or application-limited: 10 11 12
        nagle-delayed-ack to-client 40.450 (1, 40.450) medium or application-limited: 10 11 12
        propagation to-client 10.000 (1, 10.000) high: 12
        "#,
    );
}

/// The client's request acknowledges the SYN-ACK. Seen at the client, it came at once: it waited for nothing else.
#[test]
fn a_request_that_comes_at_once_with_the_last_ack_of_the_handshake_leaves_no_doubt() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0      > syn
        20     < syn
        20.02  > 0:100 psh ack 0
        41     < 0:600 psh ack 100
        41.1   > ack 600
        "#,
        r#"
        handshake to-server 20.010 (1, 20.010) high: 1 2 3
        propagation to-server 10.010 (1, 10.010) high: 3
        server-think to-client 0.980 (1, 0.980) high: 3 4
        propagation to-client 10.000 (1, 10.000) high: 4
        "#,
    );
}

/// The same, 5 ms later: the client may have been busy, and the path did not take that long.
#[test]
fn a_request_that_comes_late_with_the_last_ack_of_the_handshake_may_have_been_late_itself() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0      > syn
        20     < syn
        25     > 0:100 psh ack 0
        46     < 0:600 psh ack 100
        46.1   > ack 600
        "#,
        r#"
        handshake to-server 24.950 (1, 24.950) medium or application-limited: 1 2 3
        propagation to-server 10.050 (1, 10.050) high: 3
        server-think to-client 1.000 (1, 1.000) high: 3 4
        propagation to-client 10.000 (1, 10.000) high: 4
        "#,
    );
}
