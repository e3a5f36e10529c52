//! A process without root enters a private network and uses it.
//!
//! The kernel creates a user namespace only for a process with a single thread, so this test has
//! its own `main`. As root it restarts itself as user nobody, with a `/dev/net/tun` accessible to
//! all users, as on most hosts.

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs::{self, Permissions},
        io,
        net::{TcpListener, TcpStream},
        os::unix::{fs::PermissionsExt, process::CommandExt},
        process::Command,
    };

    use ackwise_linux::{
        Emulator, Namespace, TunDevice, TunError, device::TunOptions, emulator::EmulatorOptions,
        namespace::enter_private_network,
    };
    use ackwise_testing::skip;
    use nix::{
        mount::{MsFlags, mount},
        sched::{CloneFlags, unshare},
        sys::stat::{Mode, SFlag, makedev, mknod},
        unistd::geteuid,
    };

    pub(super) fn main() {
        if geteuid().is_root() { as_nobody() } else { without_root() }
    }

    fn as_nobody() {
        if let Err(error) = show_node_to_everybody() {
            return skip(
                NAME,
                format!("cannot mount: {error}; grant CAP_SYS_ADMIN, or run it as a user"),
            );
        }
        let program = std::env::current_exe().expect("/proc is mounted");
        match Command::new(program).uid(NOBODY).gid(NOBODY).current_dir("/").status() {
            Ok(status) => assert!(status.success(), "{status}"),
            Err(error) => {
                skip(NAME, format!("cannot start it as nobody: {error}; run it as a user"))
            }
        }
    }

    /// In a mount namespace that ends with this process.
    fn show_node_to_everybody() -> io::Result<()> {
        let nothing = None::<&str>;
        let node = "/dev/net/tun";
        unshare(CloneFlags::CLONE_NEWNS)?;
        mount(nothing, "/", nothing, MsFlags::MS_PRIVATE | MsFlags::MS_REC, nothing)?;
        mount(nothing, "/dev/net", Some("tmpfs"), MsFlags::empty(), nothing)?;
        mknod(node, SFlag::S_IFCHR, Mode::empty(), makedev(10, 200))?;
        fs::set_permissions(node, Permissions::from_mode(0o666))
    }

    fn without_root() {
        let user = geteuid();
        if let Err(missing) = enter_private_network() {
            return skip(NAME, missing);
        }
        assert_eq!(geteuid(), user, "the same user as before");
        let interfaces = fs::read_to_string("/proc/net/dev").expect("/proc is mounted");
        assert_eq!(interfaces.lines().skip(2).count(), 1, "{interfaces}");

        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has its address");
        let address = listener.local_addr().expect("a bound socket has one");
        TcpStream::connect(address).expect("loopback is up");

        namespace().run(|| ()).expect("and into them");
        match TunDevice::open(TunOptions::default()) {
            Ok(device) => {
                assert!(device.name().starts_with("tun"));
                over_an_emulated_link();
            }
            // The node's permissions are a setting of the host; the capability is not missing.
            Err(forbidden @ (TunError::NodeForbidden | TunError::NoNode)) => {
                println!("{forbidden}")
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn over_an_emulated_link() {
        let (client, server) = (namespace(), namespace());
        let options = EmulatorOptions::default();
        let emulator = Emulator::between(&client, &server, &options).expect("a device was allowed");
        let address = (emulator.server_address(), 0);
        let listener = server.run(|| TcpListener::bind(address)).expect("in").expect("free");
        let address = listener.local_addr().expect("a bound socket has one");
        let _open = client.run(|| TcpStream::connect(address)).expect("in").expect("joined");
        // The client is connected once the SYN-ACK has arrived, the server once the ACK has.
        listener.accept().expect("the client is connected");
        let report = emulator.stop().expect("nobody removes its devices");
        assert!(report.to_server.delivered >= 2, "SYN and ACK: {report}");
        println!("{report}");
    }

    fn namespace() -> Namespace {
        Namespace::create().expect("more of them")
    }

    const NAME: &str = "a_process_without_root_enters_a_network_of_its_own";
    const NOBODY: u32 = 65_534;
}
