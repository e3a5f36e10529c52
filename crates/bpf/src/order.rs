//! Whether all that had come in on a connection was read before its process last wrote (`bpf/order.bpf.c`).

use crate::BpfError;

/// What came last on a connection, as its process sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Last {
    /// It has written after it had read everything that came in.
    Written,
    /// Something came in that it had not read when it last wrote.
    Received,
}

/// Sees the writes of the connections of one port, or of all, from its start on.
#[derive(Debug)]
pub struct Witness {
    #[cfg(feature = "libbpf")]
    _link: libbpf_rs::Link,
    #[cfg(feature = "libbpf")]
    read_before_write: libbpf_rs::MapHandle,
}

#[cfg(feature = "libbpf")]
impl Witness {
    /// Begins to watch the connections whose local port is `port`, or all.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn start(port: Option<u16>) -> Result<Self, BpfError> {
        use libbpf_rs::{MapCore, MapHandle};

        use crate::load::{failed, open};

        let failed = |error: libbpf_rs::Error| failed(PROGRAM, &error);
        let mut open = open(PROGRAM, include_bytes!("../objects/order.bpf.o"))?;
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with(".rodata") {
                map.set_initial_value(&port.unwrap_or(0).to_ne_bytes()).map_err(failed)?;
            }
        }
        let object = open.load().map_err(failed)?;
        let link =
            object.progs_mut().next().expect("the object has one").attach().map_err(failed)?;
        let map = object.maps().find(|map| map.name() == MAP).expect("the object has it");
        let read_before_write = MapHandle::try_from(&map).map_err(failed)?;
        Ok(Self { _link: link, read_before_write })
    }

    /// What came last on the connection with this cookie, of which `received` bytes have come in. `None` if
    /// its process has not written to it since the start.
    #[must_use]
    pub fn last(&self, cookie: u64, received: u64) -> Option<Last> {
        use libbpf_rs::{MapCore, MapFlags};

        let value = self.read_before_write.lookup(&cookie.to_ne_bytes(), MapFlags::ANY).ok()??;
        let read = u64::from_ne_bytes(value.try_into().ok()?);
        Some(if read == received { Last::Written } else { Last::Received })
    }
}

#[cfg(not(feature = "libbpf"))]
impl Witness {
    /// Begins to watch the connections whose local port is `port`, or all.
    ///
    /// # Errors
    ///
    /// [`BpfError::NotBuilt`].
    pub const fn start(_port: Option<u16>) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }

    /// What came last on the connection with this cookie, of which `received` bytes have come in. `None` if
    /// its process has not written to it since the start.
    #[must_use]
    pub const fn last(&self, _cookie: u64, _received: u64) -> Option<Last> {
        None
    }
}

#[cfg(feature = "libbpf")]
const PROGRAM: &str = "the witness of writes";
#[cfg(feature = "libbpf")]
const MAP: &str = "read_before_write";
