//! `ackwise tune --port PORT` and `--of PID|DIR`: arguments in, a line for each act out, until Ctrl-C.

mod compare;

use std::{
    env,
    io::{self, Write},
    net::IpAddr,
    ops::ControlFlow,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::host_changes::RUN_DIRECTORY;
use ackwise_tune::{
    Closing, KeepFree, Line, NetworkNamespace, Of, Options, Pacing, Summary, Target, keep, tune,
    undo, user_named,
};
use ackwise_tuning::{Patience, Percent};
use clap::{ArgGroup, Args};
use ipnet::IpNet;

use super::{
    interrupt::Stop,
    number::whole,
    outcome::{Failure, Outcome},
    progress::ProgressLine,
    quantity,
};

/// Set TCP options of a running server from outside, and close idle connections to make room for new ones
///
/// Without --apply, prints the planned changes, the reasons and the expected effect, and changes nothing. With
/// --apply, sets the options on the server's listening sockets and open connections until Ctrl-C, then restores
/// the old values, even if the run is killed. Linux only.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(group(ArgGroup::new("closing").args(["max_connections", "keep_free", "of"]).multiple(true)))]
pub(crate) struct Tune {
    /// Tune the server that listens on this TCP port
    #[arg(long, value_name = "PORT", value_parser = whole(1..=65_535_u16))]
    #[arg(required_unless_present_any = ["of", "undo", "keep"])]
    port: Option<u16>,

    /// Tune process PID and its descendants, or the processes of control group DIR, such as a systemd unit's
    ///
    /// Covers all ports on which these processes listen, or only --port, in their network namespace. Without other
    /// options, closes idle connections before a process runs out of file descriptors (--keep-free): connections
    /// from clients, and those of a proxy to its servers. The longest idle is closed first. The run ends when PID ends,
    /// or when DIR has had no process for 10 s. A server that restarts in DIR is found again.
    #[arg(long, value_name = "PID|DIR", value_parser = of)]
    #[arg(conflicts_with_all = ["pid", "netns", "user"])]
    of: Option<Of>,

    /// Set TCP_NODELAY, so that no segment waits for the client's delayed ACK
    #[arg(long)]
    nodelay: bool,

    /// Limit the unsent bytes in each connection's send buffer to SIZE (TCP_NOTSENT_LOWAT), such as 16KB
    ///
    /// The kernel reports the socket as writable only while it has fewer unsent bytes. The last write can exceed SIZE
    /// by up to about 64 KB.
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes(1..=0x4000_0000_u32))]
    unsent: Option<u32>,

    /// Size all send and receive buffers in use to fit into SIZE of memory, such as 64MiB
    ///
    /// Every 2 s, or less often so that it takes at most 2 % of a processor, computes from losses, round trip and rate
    /// how much buffer each busy connection can use (E2-ATBT, Okamoto et al. 2001). If the sum exceeds SIZE, the
    /// largest buffers are cut to equal sizes. Replaces the kernel's autotuning of these buffers (SO_SNDBUF,
    /// SO_RCVBUF). Sets TCP_NODELAY on connections whose send buffer it sizes, because the kernel exceeds the limit
    /// otherwise. Needs Linux 5.14.
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes(65_536..=u32::MAX))]
    buffer_memory: Option<u32>,

    /// Pace the restart of idle connections at their earlier rate, instead of using the initial window
    ///
    /// Replaces the kernel's CUBIC or Reno by an eBPF version that keeps the congestion window over an idle period, and
    /// paces it over one round trip until the first ACK. Leaves BBR and others as they are. Needs Linux 6.4 with BTF, and
    /// a build with `--features ebpf`. Only one run at a time can use this option.
    #[arg(long)]
    pace: bool,

    /// Close idle connections when nearly N connections (see --keep-free) are open or wait to be accepted
    ///
    /// Set N to the server's own limit. N applies to all listening sockets of one address, or of one process, together;
    /// another program on the port has its own N. Also closes connections when a process of the server is short of file
    /// descriptors. A connection is idle if data has flowed both ways, nothing is unread, unsent or unacknowledged, and
    /// the last data came from the server, after all of the client's data had arrived. A stream that pauses (WebSocket, event streams,
    /// HTTP/2 with several requests) can look idle: use --exclude, or do not use this option for these servers.
    #[arg(long, value_name = "N", value_parser = whole(1_u32..))]
    max_connections: Option<u32>,

    /// Keep room for N new connections, or for PERCENT of --max-connections [default: 10%]
    ///
    /// Closes idle connections before the limit is reached, because some servers reject new connections at their limit.
    /// Keeps the same number, or share, of each process's file descriptors free. Never keeps more than half of a limit free. With
    /// 0, closes a connection only when a client waits. Without --max-connections, only descriptors count.
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "N|PERCENT", value_parser = keep_free)]
    keep_free: Option<KeepFree>,

    /// Close at most N connections a second
    #[arg(hide_short_help = true, requires = "closing")]
    #[arg(long, value_name = "N", default_value_t = Closing::PER_SECOND, value_parser = whole(1_u32..))]
    max_closes_per_second: u32,

    /// Close a connection only if it has been quiet for TIME
    #[arg(hide_short_help = true, requires = "closing")]
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = quantity::time)]
    idle_at_least: Duration,

    /// If it is unknown whether the last request was answered, close only after TIME without data
    ///
    /// This is unknown if request and response fall into one tick of the kernel's clock, 4 ms on many systems. Set TIME
    /// longer than the server's slowest response.
    #[arg(hide_short_help = true, requires = "closing")]
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = quantity::time)]
    unsure_after: Duration,

    /// Never close connections with this address or network at the other end (repeatable, or comma-separated)
    #[arg(hide_short_help = true, requires = "closing")]
    #[arg(long, value_name = "ADDRESS|NET", value_delimiter = ',', value_parser = net)]
    exclude: Vec<IpNet>,

    /// Look for the server in the network namespace of process PID, such as a container's
    #[arg(long, value_name = "PID", value_parser = whole(1_u32..), conflicts_with = "netns")]
    pid: Option<u32>,

    /// Look for the server in the network namespace FILE, such as /run/netns/NAME
    #[arg(long, value_name = "FILE")]
    netns: Option<PathBuf>,

    /// Tune only the listening sockets that USER has opened
    ///
    /// USER is a name or a user ID. Required if several users listen on the port, each on its own address: one user's
    /// connections must not cause another user's connections to be closed.
    #[arg(long, value_name = "USER", value_parser = user)]
    user: Option<u32>,

    /// Watch the connections for TIME in a dry run
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = quantity::time)]
    #[arg(conflicts_with = "apply")]
    watch: Duration,

    /// Apply the changes until Ctrl-C; needs root
    #[arg(long)]
    apply: bool,

    /// Measure the server at URL before and with the change, print what differs, and end
    ///
    /// Runs `check --quick`, and `load` ten times for 0.5 s with one request at a time. Other load that changes in
    /// between is part of the ratios.
    #[arg(hide_short_help = true, requires = "apply")]
    #[arg(long, value_name = "URL")]
    compare: Option<String>,

    /// Restore what earlier runs changed and did not restore because they were killed; needs root
    #[arg(long, conflicts_with_all = ["port", "apply", "nodelay", "unsent", "buffer_memory", "pace"])]
    #[arg(conflicts_with_all = ["max_connections", "keep_free", "of", "pid", "netns", "user"])]
    undo: bool,

    /// Undo the run with this journal when standard input ends
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["port", "apply", "undo"])]
    keep: Option<PathBuf>,

    /// Print each action as a JSON document on a line of its own
    #[arg(long)]
    json: bool,
}

/// Tunes, and prints each act as it happens.
pub(crate) fn run(arguments: &Tune) -> Result<Outcome, Failure> {
    if let Some(journal) = &arguments.keep {
        keep(journal, arguments.pacing())?;
        return Ok(Outcome::Good);
    }
    let mut printer = Printer { is_json: arguments.json, failed: None };
    let is_complete = if arguments.undo {
        undo(RUN_DIRECTORY.as_ref(), |line| printer.tell(line))?
    } else {
        let stop = Stop::on_signal()?;
        let summary = match &arguments.compare {
            Some(url) => compared(url, arguments, &stop, &mut printer)?,
            None => tune(&arguments.options(), stop.asked(), |line| printer.tell(line))?,
        };
        summary.not_given_back == 0
    };
    match printer.failed {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ if is_complete => Ok(Outcome::Good),
        _ => Ok(Outcome::Bad),
    }
}

/// Prints lines as they come.
struct Printer {
    is_json: bool,
    failed: Option<io::Error>,
}

impl Printer {
    fn tell(&mut self, line: &Line) -> ControlFlow<()> {
        let text = if self.is_json { line.json() } else { line.text() + "\n" };
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Tunes for as long as it takes to measure. The run has a thread of its own, which may start nothing by then.
fn compared(
    url: &str,
    arguments: &Tune,
    stop: &Stop,
    printer: &mut Printer,
) -> Result<Summary, Failure> {
    let began = Instant::now();
    let progress = ProgressLine::new();
    progress.show("measuring before the change");
    let Some(before) = compare::measure(url, stop)? else {
        return Err(Failure::Interrupted { signal: stop.signal().unwrap_or_default() });
    };
    let options = arguments.options();
    let printer = Mutex::new(printer);
    let tell = |line: &Line| printer.lock().unwrap_or_else(PoisonError::into_inner).tell(line);
    thread::scope(|scope| {
        let run = scope.spawn(|| tune(&options, stop.asked(), tell));
        compare::settle(|| run.is_finished());
        progress.show("measuring with the change");
        let with = if run.is_finished() { Ok(None) } else { compare::measure(url, stop) };
        stop.ask();
        let summary = run.join().expect("it does not panic")?;
        if let Some(with) = with? {
            drop(progress);
            for line in compare::compare(&before, &with, began.elapsed()) {
                let _ = tell(&line);
            }
        }
        Ok(summary)
    })
}

impl Tune {
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    const fn pacing(&self) -> Pacing {
        if self.pace { Pacing::On } else { Pacing::Off }
    }

    fn options(&self) -> Options {
        let namespace = match (self.pid, &self.netns) {
            (Some(process), _) => NetworkNamespace::Process(process),
            (None, Some(file)) => NetworkNamespace::File(file.clone()),
            (None, None) => NetworkNamespace::Here,
        };
        let target = match &self.of {
            Some(of) => Target::Processes { of: of.clone(), port: self.port },
            None => Target::Port(self.port.expect("the command line requires it")),
        };
        let pace = self.pace.then_some("--pace");
        let keep = ["tune"].into_iter().chain(pace).chain(["--keep"]).map(str::to_owned).collect();
        Options {
            no_delay: self.nodelay,
            unsent: self.unsent,
            buffer_memory: self.buffer_memory.map(u64::from),
            pacing: self.pacing(),
            closing: self.closes().then(|| self.closing()),
            user: self.user,
            apply: self.apply,
            watch: self.watch,
            keeper: env::current_exe().ok().map(|program| (program, keep)),
            ..Options::dry_run(target, namespace)
        }
    }

    /// Whether idle connections are to close: if something says so, or nothing else is asked of a process.
    fn closes(&self) -> bool {
        let sets =
            self.nodelay || self.pace || self.unsent.is_some() || self.buffer_memory.is_some();
        self.max_connections.is_some() || self.keep_free.is_some() || (self.of.is_some() && !sets)
    }

    fn closing(&self) -> Closing {
        Closing {
            max_connections: self.max_connections,
            keep_free: self.keep_free.unwrap_or(KeepFree::DEFAULT),
            per_second: self.max_closes_per_second,
            patience: Patience {
                idle_at_least: self.idle_at_least,
                unsure_after: self.unsure_after.max(self.idle_at_least),
            },
            exclude: self.exclude.clone(),
        }
    }
}

/// A process ID, or the directory of a control group.
fn of(text: &str) -> Result<Of, String> {
    if text.starts_with('/') {
        return Ok(Of::ControlGroup(text.into()));
    }
    let process = text.parse().ok().filter(|it| *it != 0).map(Of::Process);
    process.ok_or_else(|| {
        "expected a process ID, or the directory of a control group, such as \
         /sys/fs/cgroup/system.slice/nginx.service"
            .to_owned()
    })
}

/// A user ID, or the ID of a user with this name.
fn user(text: &str) -> Result<u32, String> {
    let id = text.parse().ok().or_else(|| user_named(text));
    id.ok_or_else(|| "expected a user's name or ID".to_owned())
}

/// A number, or a part in percent.
fn keep_free(text: &str) -> Result<KeepFree, String> {
    if text.trim_end().ends_with('%') {
        let percent = quantity::percent(0..=50)(text)?;
        let part = u8::try_from(percent).ok().and_then(Percent::new);
        return Ok(KeepFree::Part(part.expect("the range is that of a percentage")));
    }
    let number =
        text.trim().parse().map_err(|_| "expected a number, such as 20, or a part, such as 10%")?;
    Ok(KeepFree::Number(number))
}

/// A network, or one address.
fn net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from).ok();
    let net = text.parse().ok().or_else(address);
    net.ok_or_else(|| "expected an address or a network, such as 10.0.0.7 or 10.0.0.0/8".to_owned())
}

const EXAMPLES: &str = "\
Examples:
  ackwise tune --port 8080 --nodelay               show planned changes and expected effect
  ackwise tune --port 8080 --nodelay --apply       set TCP_NODELAY until Ctrl-C
  ackwise tune --of 4711 --apply                   keep descriptors of proxy 4711 free: close idle connections
  ackwise tune --undo                              restore what a killed run left changed

--help describes all options.";

const LONG_EXAMPLES: &str = "\
Examples:
  ackwise tune --port 8080 --nodelay               show planned changes and expected effect
  ackwise tune --port 8080 --nodelay --apply       set TCP_NODELAY until Ctrl-C
  ackwise tune --port 8080 --unsent 16KB --apply   keep slow clients from filling kernel memory
  ackwise tune --port 80 --pid 4711 --nodelay      a server in the container of process 4711
  ackwise tune --of $(pidof -s haproxy) --apply    close idle connections before descriptors run out
  ackwise tune --of /sys/fs/cgroup/system.slice/nginx.service --apply
                                                   the same for a systemd unit, also after a restart
  ackwise tune --port 80 --max-connections 200 --unsure-after 60s --exclude 10.0.0.0/8 --apply
                                                   close idle connections when 180 are open
  ackwise tune --undo                              restore what a killed run left changed

Exit codes:
  0  all options were restored
  1  some options were not restored
  2  the run could not begin";
