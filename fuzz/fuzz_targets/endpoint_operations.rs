//! Whatever is done to an endpoint, by a hostile peer or by a link between two good ones, its
//! invariants hold: see `checked`.

#![no_main]

use ackwise_fuzz::{operation::Run, pair, single};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|run: Run| {
    single::run(&run);
    pair::run(&run);
});
