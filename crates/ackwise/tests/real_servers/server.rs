//! One running server.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use ackwise_testing::debian;

use crate::{
    missing::Missing,
    network::Network,
    servers::Server,
    site::Site,
    undisturbed::{Role, undisturbed},
};

/// A server that accepts connections. Ended when dropped, and by the kernel when the test's thread ends.
pub(crate) struct Running {
    process: Child,
    site: Site,
}

impl Running {
    /// Starts `server` on its host, and waits until it listens.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub(crate) fn start(server: Server, network: &Network, test: &str) -> Result<Self, Missing> {
        let site = Site::new(test);
        let process = spawn(&server.command(&site)?, network, &site)?;
        let mut running = Self { process, site };
        network.server.run(|| running.wait_until_it_listens(server))?;
        Ok(running)
    }

    /// What the server has written, for a failure's message.
    pub(crate) fn log(&self) -> String {
        self.site.read(LOG)
    }

    /// A place for the test's own files.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    fn wait_until_it_listens(&mut self, server: Server) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()));
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect_timeout(&address, START_LIMIT).is_err() {
            let exited = self.process.try_wait().expect("it is our child");
            let alive = exited.is_none() && Instant::now() < deadline;
            assert!(alive, "{server:?} does not listen ({exited:?}):\n{}", self.log());
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Starts `command` inside the server's network, from this very thread: the kernel ends the server when
/// the thread that started it is gone, so a test that is killed leaves nothing running.
fn spawn(command: &Command, network: &Network, site: &Site) -> Result<Child, Missing> {
    let log = File::create(site.path(LOG)).expect("it is ours");
    let mut guarded = undisturbed(Role::Server, &debian::find("setpriv", "util-linux")?)?;
    guarded.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program());
    guarded.args(command.get_args());
    guarded.stdout(log.try_clone().expect("a descriptor is free")).stderr(log);
    let _inside = network.server.enter()?;
    guarded.spawn().map_err(|error| Missing::setup("setpriv", error))
}

impl Drop for Running {
    fn drop(&mut self) {
        debian::end(&mut self.process);
    }
}

const LOG: &str = "log";

/// A server that takes longer to listen does not start, also on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
