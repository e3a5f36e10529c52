//! `cargo xtask bench truth`: compares what `explain` says with what connections really waited for.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `case` | captures and truth of one run, as files |
//! | `sim` | cases from the simulator |

pub(crate) mod case;
mod sim;
