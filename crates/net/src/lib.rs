#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `target` | the server and page that a user names |
//! | `settings` | whom a session trusts, and what it calls the server |
//! | `file_verifier` | the certificates of a file, and what they have issued |
//! | `refusal` | why a session cannot go on, in words |

mod file_verifier;
mod refusal;
mod settings;
mod target;

pub use refusal::refusal;
pub use settings::TlsSettings;
pub use target::{Target, TargetError, Unresolved};
