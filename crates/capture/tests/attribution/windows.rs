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
        "#,
    );
}
