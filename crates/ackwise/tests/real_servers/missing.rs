//! What this machine lacks, and how to get it.

use std::{fmt, io, path::Path};

use ackwise_linux::namespace::NamespaceError;
use ackwise_testing::debian::NotInstalled;

/// Why a test cannot run here.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl Missing {
    /// A command that sets something up has failed, or could not be started.
    pub(crate) fn setup(command: &str, why: impl fmt::Display) -> Self {
        Self(format!("`{command}` failed: {why}; run as root on a kernel with veth"))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<NamespaceError> for Missing {
    fn from(error: NamespaceError) -> Self {
        Self(error.to_string())
    }
}

impl From<NotInstalled<'_>> for Missing {
    fn from(missing: NotInstalled<'_>) -> Self {
        Self(missing.to_string())
    }
}

/// A device from which our own stack makes its interface.
pub(crate) fn tun() -> Result<(), Missing> {
    let node = Path::new("/dev/net/tun");
    let open = std::fs::File::options().read(true).write(true).open(node);
    open.map(drop).map_err(|error: io::Error| {
        Missing(format!("{}: {error}; modprobe tun, and run as root", node.display()))
    })
}
