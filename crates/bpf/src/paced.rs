//! The congestion controls that restart by rate: the kernel's CUBIC or Reno, which keep their window over an
//! idle period and pace it afterwards (`bpf/pace.bpf.c`).
//!
//! A name is registered while the value lives: afterwards, also after `SIGKILL`, no socket can choose it any
//! more. Sockets that use it go on, and so do those that they accept; the kernel frees the programs with the
//! last of them. So who registers it also sets sockets back.

use crate::BpfError;

/// A congestion control of the kernel.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Base {
    /// RFC 9438.
    Cubic,
    /// RFC 5681.
    Reno,
}

impl Base {
    /// Every base.
    pub const ALL: [Self; 2] = [Self::Cubic, Self::Reno];

    /// Its name for `TCP_CONGESTION`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
        }
    }

    /// The name of the paced one.
    #[must_use]
    pub const fn paced(self) -> &'static str {
        match self {
            Self::Cubic => "ackwise_cubic",
            Self::Reno => "ackwise_reno",
        }
    }

    #[cfg(feature = "libbpf")]
    const fn object(self) -> &'static [u8] {
        match self {
            Self::Cubic => include_bytes!("../objects/pace_cubic.bpf.o"),
            Self::Reno => include_bytes!("../objects/pace_reno.bpf.o"),
        }
    }
}

/// Registered congestion controls.
#[derive(Debug)]
pub struct Paced {
    #[cfg(feature = "libbpf")]
    _registered: Vec<(libbpf_rs::Link, libbpf_rs::Object)>,
}

#[cfg(feature = "libbpf")]
impl Paced {
    /// Registers the paced form of each of `bases`.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. Nothing is registered then.
    pub fn register(bases: &[Base]) -> Result<Self, BpfError> {
        let registered = bases.iter().map(|base| register(*base)).collect::<Result<_, _>>()?;
        Ok(Self { _registered: registered })
    }
}

#[cfg(not(feature = "libbpf"))]
impl Paced {
    /// Registers the paced form of each of `bases`.
    ///
    /// # Errors
    ///
    /// [`BpfError::NotBuilt`].
    pub const fn register(_bases: &[Base]) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }
}

#[cfg(feature = "libbpf")]
fn register(base: Base) -> Result<(libbpf_rs::Link, libbpf_rs::Object), BpfError> {
    use libbpf_rs::{ErrorKind, MapCore};

    use crate::load::{failed, open};

    let name = base.paced();
    let failed = |error: libbpf_rs::Error| match error.kind() {
        ErrorKind::AlreadyExists => BpfError::NameTaken(name),
        _ => failed(name, &error),
    };
    let mut object = open(name, base.object())?.load().map_err(failed)?;
    let mut maps = object.maps_mut();
    let mut operations = maps.find(|map| map.name() == OPERATIONS).expect("the object has it");
    let link = operations.attach_struct_ops().map_err(failed)?;
    drop(maps);
    Ok((link, object))
}

/// The name of the `tcp_congestion_ops` in the object.
#[cfg(feature = "libbpf")]
const OPERATIONS: &str = "pace";
