//! Programs that run on one of the hosts: nginx, curl, and `ackwise` itself.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::Namespace;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// What this machine lacks beside what [`lab::missing`](crate::lab::missing) names.
pub(crate) fn missing(programs: &[&str]) -> Option<String> {
    let absent = |program: &&&str| Command::new(program).arg("-V").output().is_err();
    let program = programs.iter().find(absent)?;
    Some(format!("no {program} here; install it"))
}

/// A program that is ended when dropped, and by the kernel when the test's thread ends.
#[derive(Debug)]
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Starts it on a host.
    fn start(host: &Namespace, command: &Command) -> Self {
        let mut guarded = Command::new("setpriv");
        guarded.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program());
        guarded.args(command.get_args());
        guarded.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let _inside = host.enter().unwrap();
        Self(Some(guarded.spawn().expect("setpriv is in util-linux")))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is waited for only once")
    }

    /// The effective and permitted capabilities of its threads, without repetition.
    pub(crate) fn capabilities(&mut self) -> BTreeSet<u64> {
        let tasks = format!("/proc/{}/task", self.child().id());
        let threads = fs::read_dir(tasks).unwrap().flatten();
        let status = threads.filter_map(|it| fs::read_to_string(it.path().join("status")).ok());
        let held = |status: String| {
            let sets = status.lines().filter_map(|line| {
                line.strip_prefix("CapEff:\t").or_else(|| line.strip_prefix("CapPrm:\t"))
            });
            sets.map(|bits| u64::from_str_radix(bits, 16).unwrap()).collect::<Vec<_>>()
        };
        status.flat_map(held).collect()
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&mut self) {
        kill(Pid::from_raw(i32::try_from(self.child().id()).unwrap()), Signal::SIGINT).unwrap();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn output(mut self) -> Output {
        self.0.take().expect("it is waited for only once").wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where nginx listens, on all addresses.
pub(crate) const PORT: u16 = 8080;

/// How long it keeps an idle connection.
pub(crate) const KEPT: Duration = Duration::from_secs(3);

/// nginx on a host, with Nagle on, so that small pages wait for delayed acknowledgements.
pub(crate) fn nginx(host: &Namespace, name: &str) -> Running {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("www")).unwrap();
    fs::write(folder.join("www/small"), [b'x'; 500]).unwrap();
    fs::write(folder.join("www/large"), vec![b'x'; 400_000]).unwrap();
    let config = format!(
        "daemon off; master_process off; pid pid; error_log stderr; events {{}}
        http {{
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi; access_log off; keepalive_timeout {}s;
            sendfile on; tcp_nopush off; tcp_nodelay off;
            server {{ listen {PORT}; root www; }}
        }}",
        KEPT.as_secs()
    );
    fs::write(folder.join("nginx.conf"), config).unwrap();
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(&folder);
    let running = Running::start(host, &command);
    let connect = || host.run(|| TcpStream::connect(("127.0.0.1", PORT))).unwrap().is_ok();
    wait_until("nginx listens", connect);
    running
}

/// What `curl` says, run on a host.
pub(crate) fn curl(host: &Namespace, urls: &[&str]) -> Output {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", "--no-keepalive"]).args(urls);
    let output = Running::start(host, &command).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// `ackwise explain` on a host, once it listens.
pub(crate) fn explain(host: &Namespace, arguments: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.arg("explain").args(arguments);
    let mut running = Running::start(host, &command);
    let sockets = format!("/proc/{}/net/packet", running.child().id());
    // A line for the head of the table.
    wait_until("ackwise listens", || {
        fs::read_to_string(&sockets).is_ok_and(|table| table.lines().count() > 1)
    });
    thread::sleep(SETTLE);
    running
}

/// Nothing here takes so long, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// What passes is with the other process after this time.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);

fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "{what}: not after {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
