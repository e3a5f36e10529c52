#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `settings` | whom a session trusts, and what it calls the server |
//! | `file_verifier` | the certificates of a file, and what they have issued |
//! | `refusal` | why a session cannot go on, in words |

mod file_verifier;
mod refusal;
mod settings;

pub use refusal::refusal;
pub use settings::TlsSettings;
