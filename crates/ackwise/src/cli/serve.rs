//! `ackwise serve`: the built-in server, with files of a directory or with documents of any length.

use std::{
    io::Write, net::SocketAddr, num::NonZeroUsize, path::PathBuf, sync::Arc, thread, time::Duration,
};

use ackwise_http::{
    Behaviour,
    behaviour::{Gather, HeadFlush, KeepAlivePolicy, Nagle, Tail},
};
use ackwise_serve::{
    AfterIdle, Config, Copies, Documents, Limits, Remedy, RemedyBy, SendBuffers, Server, Site,
    Stats, kernel_keeps_the_window,
};
use ackwise_text::format::{self, Format, to_json};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    interrupt::Stop,
    number::whole,
    outcome::{Failure, Outcome},
    output, quantity,
};

/// Serve files over HTTP/1.1, with a choice of how they are written to the socket
///
/// Serves DIR. Without DIR, serves documents of any length: /6651 has 6,651 bytes. By default, every fix is on: head
/// and body are sent in one write, with TCP_NODELAY. The options turn fixes off, to show a stall in a client, in
/// `ackwise check` or in a capture. Does not serve files whose names begin with a dot, or links that leave DIR.
///
/// Uses one thread per connection. Not hardened: use it only on trusted networks. Ctrl-C ends it with exit code 0.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Serve the files of this directory; / is its index.html
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Listen on this address; port 0 lets the kernel choose
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    #[arg(value_parser = address)]
    listen: SocketAddr,

    /// Start from this behaviour; the options below change it
    #[arg(long = "as", value_name = "NAME", default_value = "fixed")]
    behaviour: Preset,

    /// Write head and body separately
    #[arg(long)]
    head_apart: bool,

    /// Write at most SIZE at a time
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes(1..=1_u32 << 30))]
    write_size: Option<u32>,

    /// Leave Nagle's algorithm on
    #[arg(long)]
    nagle: bool,

    /// Leave the last write of each response corked (TCP_CORK)
    #[arg(long)]
    cork: bool,

    /// Write the responses to pipelined requests as one stream, so that only its last segment is short
    #[arg(long)]
    fill_segments: bool,

    /// Set SO_SNDBUF to SIZE (the kernel doubles it); `auto` sizes the buffer of each connection by E-ATBT
    ///
    /// E-ATBT (Okamoto et al. 2001) computes the size from the connection's losses and round trip. It starts with 16 KB
    /// or two segments. Linux only.
    #[arg(long, value_name = "SIZE|auto", value_parser = send_buffer)]
    send_buffer: Option<SendBuffer>,

    /// Wait this long before each response
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    think: Option<Duration>,

    /// Close idle connections after this time
    #[arg(long, value_name = "TIME", value_parser = quantity::time, conflicts_with = "close")]
    keep_alive: Option<Duration>,

    /// Close each connection after one response
    #[arg(long)]
    close: bool,

    /// Keep at most N connections open, and close further ones at once
    #[arg(long, value_name = "N", default_value = "256", value_parser = whole(1..=10_000_usize))]
    connections: usize,

    /// Pace the first window after an idle period over one round trip (SO_MAX_PACING_RATE)
    ///
    /// Needs net.ipv4.tcp_slow_start_after_idle=0: with 1, the kernel's default, the window is cut to the initial
    /// one before the first byte is sent. Linux only.
    #[arg(long)]
    pace: bool,

    /// Support GETWEB: send a page and all its files on this server as one response
    #[arg(long)]
    getweb: bool,

    /// Support CLIENT_CLOSE: the client announces that it closes first and holds TIME-WAIT
    #[arg(long)]
    client_close: bool,

    /// Select how the bytes of files reach the socket
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    copies: CopyMode,

    /// With --copies mmap, map files of more than SIZE; read smaller ones [default: 8KiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes(0..=1_u64 << 40))]
    mmap_over: Option<u64>,

    /// Send the head separately to clients whose User-Agent contains TEXT (repeatable)
    ///
    /// For clients that ignore data in the same segment as the head (Heidemann 1996, section 2.6).
    #[arg(long, value_name = "TEXT")]
    head_apart_for: Vec<String>,

    /// Close the connection after each response to clients whose User-Agent contains TEXT (repeatable)
    #[arg(long, value_name = "TEXT")]
    close_for: Vec<String>,

    /// Select the server's TCP stack
    ///
    /// The ackwise stack ignores the address of --listen, and fills the send buffer with each write.
    #[arg(long, value_enum, default_value_t)]
    stack: ServerStack,

    /// Ask clients to hold TIME-WAIT, with a TCP option of Ackwise's stack (--stack ackwise only)
    #[arg(long)]
    negotiate_time_wait: bool,

    /// Print JSON when the server ends
    #[arg(long)]
    json: bool,
}

/// Where the behaviour starts from.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    /// One write, Nagle off, connections persist
    Fixed,
    /// Apache 1.1 as in Heidemann's papers: separate head, 4 KB per write, Nagle on
    #[value(name = "1996")]
    Paper1996,
}

/// Which TCP carries the connections.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum ServerStack {
    /// Kernel sockets; no privileges needed
    #[default]
    Kernel,
    /// Ackwise's own stack on a TUN device; needs root or CAP_NET_ADMIN
    Ackwise,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum CopyMode {
    /// Read up to 64 KB, and write
    #[default]
    Read,
    /// Copy through stdio's buffers, 4 KB at a time, as in 1996
    Stdio,
    /// Let the kernel copy (sendfile)
    Sendfile,
    /// Map files into memory, and let the kernel copy from there (Linux only)
    Mmap,
}

/// The value of `--send-buffer`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SendBuffer {
    Auto,
    Bytes(u32),
}

fn send_buffer(text: &str) -> Result<SendBuffer, String> {
    if text == "auto" {
        return Ok(SendBuffer::Auto);
    }
    let bytes = quantity::bytes(1..=1_u32 << 30)(text);
    bytes.map(SendBuffer::Bytes).map_err(|expected| format!("{expected}, or auto"))
}

impl Serve {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    fn remedies(&self) -> Vec<Remedy> {
        let remedy = |by| move |agent: &String| Remedy { agent: agent.clone(), by };
        let apart = self.head_apart_for.iter().map(remedy(RemedyBy::HeadApart));
        apart.chain(self.close_for.iter().map(remedy(RemedyBy::NoPersistence))).collect()
    }

    /// What `--pace` means here; says if it means nothing.
    fn after_idle(&self) -> AfterIdle {
        if !self.pace {
            return AfterIdle::Kernel;
        }
        if !kernel_keeps_the_window().unwrap_or(false) {
            let _ = writeln!(anstream::stderr(), "{CUT}");
        }
        AfterIdle::Paced
    }

    fn behaviour(&self) -> Behaviour {
        let mut behaviour = match self.behaviour {
            Preset::Fixed => Behaviour::FIXED,
            Preset::Paper1996 => Behaviour::PAPER_1996,
        };
        if self.head_apart {
            behaviour.head_flush = HeadFlush::Apart;
        }
        if let Some(size) = self.write_size {
            behaviour.write_size = size_of(size);
        }
        if self.nagle {
            behaviour.nagle = Nagle::On;
        }
        if self.cork {
            behaviour.tail = Tail::Corked;
        }
        if self.fill_segments {
            behaviour.gather = Gather::Pending;
        }
        if let Some(SendBuffer::Bytes(size)) = self.send_buffer {
            behaviour.send_buffer = size_of(size);
        }
        if let Some(think) = self.think {
            behaviour.think = think;
        }
        if let Some(idle) = self.keep_alive {
            behaviour.keep_alive = KeepAlivePolicy::Silent { idle, max_requests: None };
        }
        if self.close {
            behaviour.keep_alive = KeepAlivePolicy::Never;
        }
        behaviour
    }
}

fn size_of(bytes: u32) -> Option<NonZeroUsize> {
    usize::try_from(bytes).ok().and_then(NonZeroUsize::new)
}

/// Serves until Ctrl-C or SIGTERM.
pub(crate) fn run(arguments: &Serve) -> Result<Outcome, Failure> {
    let documents = match &arguments.directory {
        None => Documents::Generated,
        Some(directory) => {
            let site = Site::open(directory).map_err(|error| {
                Failure::Usage(format!("cannot serve {}: {error}", directory.display()))
            })?;
            Documents::Stored(Arc::new(site))
        }
    };
    if arguments.mmap_over.is_some() && arguments.copies != CopyMode::Mmap {
        return Err(Failure::Usage("--mmap-over needs --copies mmap".to_owned()));
    }
    let stop = Stop::on_signal()?;
    let config = Config {
        bind: arguments.listen,
        documents,
        behaviour: arguments.behaviour(),
        limits: Limits { connections: arguments.connections, ..Limits::default() },
        client_close: arguments.client_close,
        getweb: arguments.getweb,
        copies: match arguments.copies {
            CopyMode::Read => Copies::Read,
            CopyMode::Stdio => Copies::Stdio,
            CopyMode::Sendfile => Copies::Sendfile,
            CopyMode::Mmap => {
                Copies::Mmap { over: arguments.mmap_over.unwrap_or(Copies::MMAP_OVER) }
            }
        },
        send_buffers: match arguments.send_buffer {
            Some(SendBuffer::Auto) => SendBuffers::Eatbt,
            Some(SendBuffer::Bytes(_)) | None => SendBuffers::Fixed,
        },
        remedies: arguments.remedies(),
        after_idle: arguments.after_idle(),
    };
    if arguments.stack == ServerStack::Ackwise {
        return on_our_own_stack(arguments, config, &stop);
    }
    if arguments.negotiate_time_wait {
        let why =
            "cannot use --negotiate-time-wait with the kernel stack (expected --stack ackwise)";
        return Err(Failure::Usage(why.to_owned()));
    }
    let server = Server::start(config).map_err(|error| {
        Failure::Usage(format!("cannot listen on {}: {error}", arguments.listen))
    })?;
    announce(arguments, server.local_addr());
    while !stop.is_asked() {
        thread::sleep(LOOK_EVERY);
    }
    let (listened_on, stats) = (server.local_addr(), server.stats());
    server.stop();
    print(arguments, &Document::new(listened_on, stats, None))
}

fn print(arguments: &Serve, document: &Document) -> Result<Outcome, Failure> {
    output::print(&if arguments.json { to_json(document) } else { document.text() }, Outcome::Good)
}

/// Serves on a TUN device until Ctrl-C or SIGTERM.
#[cfg(target_os = "linux")]
fn on_our_own_stack(arguments: &Serve, config: Config, stop: &Stop) -> Result<Outcome, Failure> {
    use ackwise_linux::{TunDevice, device::TunOptions};
    use ackwise_serve::StackServer;
    use ackwise_tcp::{TimeWaitHolder, policy::ClosePolicy};

    let close = match arguments.negotiate_time_wait {
        true => ClosePolicy::Negotiated(TimeWaitHolder::Yours),
        false => ClosePolicy::Ordinary,
    };
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let device = TunDevice::open(TunOptions::default()).map_err(|error| usage(&error))?;
    let server = StackServer::start(device, config, close);
    let mut server =
        server.map_err(|error| Failure::Usage(format!("cannot serve on a TUN device: {error}")))?;
    super::privileges::give_up();
    announce(arguments, server.address());
    while !stop.is_asked() {
        let polled = server.poll(std::time::Instant::now() + LOOK_EVERY);
        polled.map_err(|error| usage(&format_args!("the TUN device failed: {error}")))?;
    }
    let counters = server.stack().counters();
    let own = OwnStack {
        time_wait: server.time_wait().len() as u64,
        cookies_sent: counters.cookies_sent,
        cookies_accepted: counters.cookies_accepted,
        given_up: counters.orphans_timed_out + counters.orphans_evicted,
        without_time_wait: counters.time_waits_cut,
    };
    print(arguments, &Document::new(server.address(), server.stats(), Some(own)))
}

#[cfg(not(target_os = "linux"))]
fn on_our_own_stack(_: &Serve, _: Config, _: &Stop) -> Result<Outcome, Failure> {
    Err(Failure::Usage("cannot use --stack ackwise: it needs Linux".to_owned()))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
    text.parse().map_err(|_| expected.to_owned())
}

/// Tells where the server listens: on standard error, where `--json` leaves room for it.
fn announce(arguments: &Serve, server: SocketAddr) {
    let what = match &arguments.directory {
        Some(directory) => ackwise_text::printable(&directory.display().to_string()).into_owned(),
        None => "documents of any length (/6651 has 6,651 bytes)".to_owned(),
    };
    // A reader who has gone can still be served.
    let _ = writeln!(anstream::stderr(), "Serving {what} at http://{server}/ until Ctrl-C.");
}

/// What a server that has ended did.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document {
    /// Address and port.
    listened_on: String,
    /// Connections served.
    connections: u64,
    /// Connections closed at once because the limit was reached.
    refused: u64,
    /// Connections closed to make room for new ones, on Ackwise's stack; null on the kernel's, where none are.
    displaced: Option<u64>,
    /// Complete responses.
    responses: u64,
    /// Connections that a CLIENT_CLOSE ended.
    client_closes: u64,
    /// Pages parsed for GETWEB; a page that has not changed is not parsed again.
    pages_parsed: u64,
    /// How long parsing them took in all, in milliseconds.
    parsing_ms: f64,
    /// Connections in TIME-WAIT when the server ended, on Ackwise's stack; null on the kernel's, which counts them.
    time_wait: Option<u64>,
    /// SYNs answered by a SYN cookie because the backlog was full, on Ackwise's stack; null on the kernel's.
    syn_cookies_sent: Option<u64>,
    /// Connections opened by a SYN cookie that came back, on Ackwise's stack; null on the kernel's.
    syn_cookies_accepted: Option<u64>,
    /// Closed connections whose client did not close for 60 s, or took nothing for 100 s, or that were too many, on
    /// Ackwise's stack; null on the kernel's.
    given_up: Option<u64>,
    /// Connections that closed without TIME-WAIT because too many were in it, on Ackwise's stack; null on the kernel's.
    without_time_wait: Option<u64>,
}

/// What Ackwise's own stack knows when the server ends.
#[derive(Clone, Copy, Debug)]
struct OwnStack {
    time_wait: u64,
    cookies_sent: u64,
    cookies_accepted: u64,
    given_up: u64,
    without_time_wait: u64,
}

impl format::Document for Document {
    const FORMAT: Format = Format::first("ackwise-serve");
    const ABOUT: &'static str = "What `ackwise serve --json` prints when it ends.";
}

impl Document {
    fn new(listened_on: SocketAddr, stats: Stats, own: Option<OwnStack>) -> Self {
        Self {
            listened_on: listened_on.to_string(),
            connections: stats.accepted,
            refused: stats.refused,
            displaced: own.map(|_| stats.displaced),
            responses: stats.answered,
            client_closes: stats.client_closed,
            pages_parsed: stats.pages,
            parsing_ms: stats.parsing.as_secs_f64() * 1e3,
            time_wait: own.map(|own| own.time_wait),
            syn_cookies_sent: own.map(|own| own.cookies_sent),
            syn_cookies_accepted: own.map(|own| own.cookies_accepted),
            given_up: own.map(|own| own.given_up),
            without_time_wait: own.map(|own| own.without_time_wait),
        }
    }

    fn text(&self) -> String {
        let Self {
            connections,
            refused,
            responses,
            client_closes,
            pages_parsed,
            parsing_ms,
            time_wait,
            syn_cookies_sent,
            syn_cookies_accepted,
            displaced,
            given_up,
            without_time_wait,
            ..
        } = self;
        let mut text = format!("Sent {responses} responses on {connections} connections.\n");
        if *refused > 0 {
            text += &format!("Closed {refused} more at once (--connections).\n");
        }
        if let Some(displaced @ 1..) = displaced {
            text +=
                &format!("Closed {displaced} idle or stalled ones to make room for new ones.\n");
        }
        if *client_closes > 0 {
            text += &format!("{client_closes} connections ended by CLIENT_CLOSE.\n");
        }
        if *pages_parsed > 0 {
            text += &format!("Parsed {pages_parsed} pages for GETWEB in {parsing_ms:.3} ms.\n");
        }
        if let Some((sent, accepted)) = syn_cookies_sent.zip(*syn_cookies_accepted)
            && sent > 0
        {
            text += &format!(
                "The backlog was full: answered {sent} SYNs by cookies; {accepted} opened a connection.\n"
            );
        }
        if let Some(given_up @ 1..) = given_up {
            text +=
                &format!("Gave up {given_up} closed connections that their clients kept open.\n");
        }
        if let Some(cut @ 1..) = without_time_wait {
            text += &format!("Too many were in TIME-WAIT: {cut} closed without it.\n");
        }
        if let Some(held) = time_wait {
            text += &format!("{held} connections were in TIME-WAIT at the end.\n");
        }
        text
    }
}

const CUT: &str = "warning: --pace has no effect: the kernel cuts the window after idle before the first byte (expected \
                   net.ipv4.tcp_slow_start_after_idle=0)";
/// How long a signal may go unnoticed (our choice).
const LOOK_EVERY: Duration = Duration::from_millis(20);

const EXAMPLES: &str = "\
Examples:
  ackwise serve                            documents of any length at http://127.0.0.1:8080/N
  ackwise serve --as 1996                  watch `ackwise check http://localhost:8080/300` fail
  ackwise serve public --getweb            a page and all its files for one request
  ackwise serve --listen 127.0.0.1:0 --head-apart --nagle
  ackwise serve public --copies sendfile   send files by sendfile, without a copy in user space
  sudo ackwise serve --stack ackwise --negotiate-time-wait

GETWEB (Gürkan 1998) and CLIENT_CLOSE (Faber, Touch and Yue 1997) are HTTP methods that papers
proposed. Crate ackwise-http documents their formats, in modules getweb and client_close.";
