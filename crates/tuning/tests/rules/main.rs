//! Rules that hold for any input, with everything built through the public interface. A failure
//! prints the smallest input that shows it, and the seed that leads there.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod estimates;
mod idle;
mod proxy;
mod register;
mod shares;
