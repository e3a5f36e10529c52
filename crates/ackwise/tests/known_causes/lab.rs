//! Two hosts and what is between them.

use std::{fs, io, net::Ipv4Addr, process::Command, sync::mpsc, thread};

use ackwise_linux::{
    Emulator, Namespace,
    emulator::{Disturbance, EmulatorOptions, ProcessorWatch},
};

/// A client's host and a server's host, each in a namespace.
#[derive(Debug)]
pub(crate) struct Lab {
    pub client: Host,
    pub server: Host,
    between: Between,
    /// Clients and servers run before other programs.
    pub programs_first: bool,
}

/// What joins the hosts, and knows whether the machine disturbed it.
#[derive(Debug)]
enum Between {
    Cable(ProcessorWatch),
    Link(Emulator),
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Host {
    pub namespace: Namespace,
    pub interface: String,
    pub address: Ipv4Addr,
}

/// What this machine lacks for any of these tests, if it lacks something.
pub(crate) fn missing() -> Option<String> {
    if let Err(error) = Namespace::create() {
        return Some(error.to_string());
    }
    missing_program(&["ip", "ethtool", "tcpdump"])
}

/// The first of these programs that is not installed.
pub(crate) fn missing_program(programs: &[&str]) -> Option<String> {
    let absent = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let program = programs.iter().find(absent)?;
    Some(format!("no {program} here; install it"))
}

impl Lab {
    /// Joined by a virtual cable without offloads: what is captured an Ethernet would carry.
    pub(crate) fn with_cable() -> Self {
        let [client, server] = namespaces();
        lay_cable(&client, &server);
        Self {
            client: Host::on_cable(client, Ipv4Addr::new(10, 77, 0, 1)),
            server: Host::on_cable(server, Ipv4Addr::new(10, 77, 0, 2)),
            between: Between::Cable(ProcessorWatch::start().expect("there is room for threads")),
            programs_first: true,
        }
    }

    /// Joined by an emulated link.
    pub(crate) fn with_link(options: &EmulatorOptions) -> Self {
        let [client, server] = namespaces();
        let link = Emulator::between(&client, &server, options).expect("root may make TUN devices");
        let host = |namespace, interface: &str, address| {
            let interface = interface.to_owned();
            Host { namespace, interface, address }
        };
        Self {
            client: host(client, link.client_device(), link.client_address()),
            server: host(server, link.server_device(), link.server_address()),
            between: Between::Link(link),
            programs_first: true,
        }
    }

    /// As that, kept busy: the emulator needs the processors more than the programs do.
    pub(crate) fn with_busy_link(options: &EmulatorOptions) -> Self {
        Self { programs_first: false, ..Self::with_link(options) }
    }

    /// Ends what is between the hosts. A run with disturbances shows nothing.
    pub(crate) fn stop(self) -> Vec<Disturbance> {
        match self.between {
            Between::Link(link) => link.stop().expect("nobody removed its devices").disturbances(),
            Between::Cable(watch) => Disturbance::of_pause(watch.stop()).into_iter().collect(),
        }
    }
}

fn namespaces() -> [Namespace; 2] {
    [(); 2].map(|()| Namespace::create().expect("it worked before"))
}

impl Host {
    fn on_cable(namespace: Namespace, address: Ipv4Addr) -> Self {
        let host = Self { namespace, interface: "cable".into(), address };
        host.run(&format!("ip address add {address}/24 dev cable"));
        host.run("ethtool -K cable tso off gso off gro off");
        host.run("ip link set cable up");
        // This kernel's default may be BBR, which paces and knows no slow-start restart.
        host.run("ip route change 10.77.0.0/24 dev cable congctl lock cubic");
        host
    }

    /// Runs a command without quotes.
    pub(crate) fn run(&self, line: &str) {
        self.inside(|| run(line));
    }

    /// Does something there.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.namespace.run(work).expect("who made a namespace may enter it")
    }
}

fn lay_cable(client: &Namespace, server: &Namespace) {
    let (here, there) = mpsc::channel();
    let (done, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // A namespace without a name is named by a thread that is in it.
        scope.spawn(move || {
            server.run(move || {
                let _ = here.send(fs::read_link("/proc/thread-self"));
                let _ = finished.recv();
            })
        });
        let path: io::Result<_> = there.recv().expect("the thread says where it is");
        let path = path.expect("/proc is mounted");
        let peer = format!("peer name cable netns /proc/{}/ns/net", path.display());
        let lay = || run(&format!("ip link add cable type veth {peer}"));
        client.run(lay).expect("who made a namespace may enter it");
        drop(done);
    });
}

fn run(line: &str) {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}
