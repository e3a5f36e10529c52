#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `paced` | the congestion controls that restart by rate |
//! | `order` | whether a connection's last request was read before its last write |
//! | `load` | loads an object, and says why the kernel refuses |
//!
//! The programs are in `bpf/`, compiled in `objects/`. The offsets of the kernel's fields are looked up in
//! its BTF when they are loaded (CO-RE), so one object fits every kernel that has the fields.
//! `ACKWISE_UPDATE=1 cargo test -p ackwise-bpf` compiles them again; without it, the same test compares.

#![cfg(target_os = "linux")]

mod load;
mod order;
mod paced;

pub use load::BpfError;
pub use order::{Last, Witness};
pub use paced::{Base, Paced};
