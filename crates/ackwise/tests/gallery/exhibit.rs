//! A program with a bug, and the same with its fix: run, watched and judged.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use ackwise_cause::{Cause, Party};
use ackwise_linux::emulator::{Disturbance, EmulatorOptions};
use ackwise_testing::{inconclusive, skip};
use socket2::SockRef;

use super::{
    guide::{self, Section},
    lab::{self, Lab},
    report::Report,
    tap::Tap,
};

/// A pattern, and what is to be said of it.
pub(crate) struct Exhibit {
    /// Its heading in the gallery.
    pub title: &'static str,
    /// The text of its program.
    pub source: &'static str,
    pub network: Network,
    /// Talks on one connection until its client has gone.
    pub server: fn(&mut TcpStream, Version) -> io::Result<()>,
    /// Connects, once or more often, and asks.
    pub client: fn(SocketAddr, Version) -> io::Result<()>,
    pub verdict: Claim,
}

/// Which of the two programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Version {
    Buggy,
    Fixed,
}

/// What is between client and server.
pub(crate) enum Network {
    Cable,
    Link(fn() -> EmulatorOptions),
}

/// What the report must say of the bug, and must no longer say of the fix.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Claim {
    /// This cause takes at least this percentage of all time, and this party can change it.
    Costs(Cause, Party, f64),
    /// This party closes first, and holds TIME-WAIT.
    HoldsTimeWait(Party),
    /// Requests fail, all for this reason, and this party can change it.
    Fails(&'static str, Party),
}

impl Exhibit {
    /// Runs both programs, and holds the reports of both ends to the verdict and to the gallery.
    pub(crate) fn show(&self) {
        self.show_with(&|lab, version| self.run(lab, version));
    }

    /// As that, with programs that are run in another way.
    pub(crate) fn show_with(&self, run: &dyn Fn(&Lab, Version)) {
        /// Other programs may have had the processors. Ours.
        const ATTEMPTS: u32 = 3;
        /// Times are real, and there are few processors: one exhibit after the other.
        static ONE: Mutex<()> = Mutex::new(());
        let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(missing) = lab::missing() {
            return skip(self.title, missing);
        }
        let section = Section::of(self.title);
        section.must_quote(self.source);
        let mut undisturbed = None;
        for _ in 0..ATTEMPTS {
            let (buggy, disturbed) = self.watch(Version::Buggy, run);
            let (fixed, disturbed_too) = self.watch(Version::Fixed, run);
            let disturbances = [disturbed, disturbed_too].concat();
            let Err(why) = self.judge(buggy, fixed, &section) else { return };
            println!("{}: {why}\ndisturbances: {disturbances:?}", self.title);
            if disturbances.is_empty() {
                undisturbed = Some(why);
            }
        }
        match undisturbed {
            Some(why) => panic!("{}: {why}", self.title),
            None => inconclusive(self.title, "every run was disturbed: the machine is too busy"),
        }
    }

    fn judge(
        &self,
        buggy: [Report; 2],
        fixed: [Report; 2],
        section: &Section,
    ) -> Result<(), String> {
        for (buggy, fixed) in buggy.iter().zip(&fixed) {
            self.verdict.must_hold(buggy)?;
            self.verdict.must_be_gone(fixed, buggy)?;
        }
        let [at_client, _] = buggy;
        if guide::is_to_be_written() {
            section.write(&at_client);
            return Ok(());
        }
        section.must_show(&at_client)
    }

    /// Runs the program, explains what the client's end and the server's saw, and says what disturbed it.
    fn watch(
        &self,
        version: Version,
        run: &dyn Fn(&Lab, Version),
    ) -> ([Report; 2], Vec<Disturbance>) {
        let lab = match self.network {
            Network::Cable => Lab::with_cable(),
            Network::Link(options) => Lab::with_link(&options()),
        };
        let taps = [(&lab.client, "client"), (&lab.server, "server")]
            .map(|(host, at)| Tap::at(host, &self.file(version, at)));
        run(&lab, version);
        let captures = taps.map(Tap::stop);
        let disturbances = lab.stop();
        (captures.map(|capture| Report::of(&capture)), disturbances)
    }

    fn file(&self, version: Version, at: &str) -> PathBuf {
        let name = self.title.replace([' ', '/'], "_");
        let name = format!("{name}.{version:?}.{at}.pcap").to_lowercase();
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
    }

    /// Runs the server on port 80 of its host, and the client on its own.
    pub(crate) fn run(&self, lab: &Lab, version: Version) {
        let address = SocketAddr::from((lab.server.address, 80));
        let listener = lab.server.inside(|| TcpListener::bind(address));
        let listener = listener.expect("nobody has port 80");
        thread::scope(|scope| {
            scope.spawn(|| lab.server.inside(|| self.serve(&listener, version)));
            let asked = lab.client.inside(|| (self.client)(address, version));
            let _ = SockRef::from(&listener).shutdown(Shutdown::Both);
            asked.unwrap_or_else(|error| panic!("{}: the client: {error}", self.title));
        });
    }

    fn serve(&self, listener: &TcpListener, version: Version) {
        // Until the listener is shut down.
        while let Ok((mut stream, _)) = listener.accept() {
            be_patient(&stream);
            // A client that has what it wants goes, and that is an error here.
            let _ = (self.server)(&mut stream, version);
        }
    }
}

/// Reads end some time, so that a test does.
pub(crate) fn be_patient(stream: &TcpStream) {
    /// Nothing here takes so long. Ours.
    const PATIENCE: Duration = Duration::from_secs(10);
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes that");
}

impl Claim {
    fn must_hold(self, report: &Report) -> Result<(), String> {
        let holds = match self {
            Self::Costs(cause, party, least) => {
                report.percent(cause, party) >= least && report.other_stalls(cause) < 5.0
            }
            Self::HoldsTimeWait(party) => report.time_wait_with(party) > 95.0,
            Self::Fails(kind, party) => {
                let mut failures = report.failures().peekable();
                failures.peek().is_some() && failures.all(|it| it == [kind, party.name()])
            }
        };
        if holds { Ok(()) } else { Err(format!("{self:?} does not hold:\n{}", report.text)) }
    }

    fn must_be_gone(self, fixed: &Report, buggy: &Report) -> Result<(), String> {
        let gone = match self {
            // Less than a twentieth of the time that it cost, whatever else that time is now.
            Self::Costs(cause, party, _) => {
                fixed.millis(cause, party) * 20.0 < buggy.millis(cause, party)
                    && fixed.stalls_millis() * 20.0 < buggy.millis(cause, party)
            }
            Self::HoldsTimeWait(party) => fixed.time_wait_with(party) < 5.0,
            Self::Fails(..) => fixed.failures().next().is_none(),
        };
        if gone { Ok(()) } else { Err(format!("{self:?} is still there:\n{}", fixed.text)) }
    }
}
