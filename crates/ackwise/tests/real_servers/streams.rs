//! Streams of a mock of a language model's server, and what holds them: the mock itself, or a proxy before it.

use ackwise_testing::skip;

use crate::{
    card::{Card, Stack, check_stream},
    missing::Missing,
    network::{BACK, Network, PORT},
    server::Running,
    servers::{Proxy, Server},
};

/// How a token each 20 ms comes, what holds it, and how that is judged, on each stack.
macro_rules! streams {
    ($($name:ident: $stack:ident, $arguments:expr, $held_by:literal, $verdict:literal;)*) => {
        $(#[test]
        fn $name() {
            let test = concat!("streams::", stringify!($name));
            let check = || {
                let network = Network::new(Stack::$stack)?;
                let running = Running::start(Server::Tokens(PORT, $arguments), &network, test)?;
                check_stream(&network, &running, Stack::$stack)
            };
            match check() {
                Ok(card) => {
                    assert_eq!(card.value(HELD, "/values/held_by"), $held_by, "{card}");
                    assert_eq!(card.value(HELD, "/verdict"), $verdict, "{card}");
                }
                Err(missing) => skip(test, missing),
            }
        })*
    };
}

streams! {
    tokens_that_are_sent_at_once_pass: Ackwise, &[], "none", "pass";
    and_do_so_for_the_kernel_s_client: Kernel, &[], "none", "pass";
    lines_of_json_are_events_too: Ackwise, &["--lines"], "none", "pass";
    a_model_that_emits_batches_is_not_accused: Ackwise, &["--batch", "10"], "none", "pass";
    nagle_s_algorithm_holds_tokens: Ackwise, &["--nagle"], "nagle", "fail";
    and_does_so_for_the_kernel_s_client: Kernel, &["--nagle"], "nagle", "fail";
    a_cork_holds_tokens: Ackwise, &["--cork"], "cork", "warn";
    and_for_the_kernel_s_client_too: Kernel, &["--cork"], "cork", "warn";
    a_buffer_holds_tokens: Kernel, &["--buffer", "4096", "--tokens", "400"], "buffer", "warn";
    what_comes_at_the_end_has_no_accused: Kernel, &["--whole"], "end", "warn";
}

/// The card of tokens behind a proxy.
pub(crate) fn card_behind(test: &str, proxy: Proxy) -> Result<Card, Missing> {
    let network = Network::new(Stack::Ackwise)?;
    let _back = Running::start(Server::Tokens(BACK, &[]), &network, &format!("{test}-back"))?;
    let running = Running::start(Server::Proxy(proxy), &network, test)?;
    check_stream(&network, &running, Stack::Ackwise)
}

pub(crate) const HELD: &str = "stream-held";
