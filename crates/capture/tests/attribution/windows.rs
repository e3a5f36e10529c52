//! Receive windows that close, and open in steps.

use crate::{shows, wire::Streams};

/// The server's program reads again after 400 ms. Three updates in a row open the window; the client
/// answers the first of them some milliseconds late, as a busy host does.
#[test]
fn a_closed_window_that_several_updates_open_held_the_data() {
    shows(
        &Streams::of_upload(8660),
        r#"
        0      > syn
        0.05   < syn
        20.1   > ack 0
        20.2   > 0:2920 psh ack 0
        20.3   < ack 2920 win 0
        420    < ack 2920 win 2920
        420.05 < ack 2920 win 5840
        420.1  < ack 2920 win 14600
        447    > 2920:8760 psh ack 0
        447.2  < ack 8760 win 14600
        447.3  < 0:100 psh ack 8760 win 14600
        467.4  > ack 100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.090 (1, 0.090) high: 4
        request-upload to-server 0.225 (2, 0.150) medium: 13
        receive-window to-server 426.725 (1, 426.725) high: 5 9 10
        propagation to-server 10.049 (1, 10.049) high: 13
        server-think to-client 0.108 (1, 0.108) high: 13 15
        transmission to-client 0.004 (1, 0.004) high: 15
        propagation to-client 0.024 (1, 0.024) high: 15
        "#,
    );
}
