//! Traffic of programs of others in which nothing fails: curl, Python and Node, with nginx and haproxy.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::{Played, Stage, micros};
use crate::dice::Dice;
use crate::failures::client::{Done, End};
use crate::failures::kind::Plain;

pub(super) fn play(
    plain: Plain,
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let files = stage.folder.canonicalize()?.join("files");
    fs::create_dir_all(&files)?;
    let port = stage.port;
    let http2 = if plain == Plain::Goaway { " http2" } else { "" };
    let behind = if plain == Plain::Proxied { port + 20_000 } else { port };
    let config = nginx(&files, &format!("{behind}{http2}"), dice)?;
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(&files);
    let _nginx = Running::start(stage, &files, command, behind)?;
    let proxy = match plain {
        Plain::Proxied => {
            let config = files.join("haproxy.cfg");
            fs::write(&config, haproxy(port, behind))?;
            let mut command = Command::new("haproxy");
            command.arg("-db").arg("-f").arg(config);
            Some(Running::start(stage, &files, command, port)?)
        }
        _ => None,
    };
    for round in 0..4 {
        all.answered += client(plain, stage, round, dice)?;
        thread::sleep(micros(dice.scaled(10.0, 500_000.0)));
    }
    drop(proxy);
    fs::remove_dir_all(&files).context("cannot remove the programs' files")
}

/// Exchanges that were answered, as the program says.
fn client(plain: Plain, stage: Stage<'_>, round: u32, dice: &mut Dice) -> anyhow::Result<u32> {
    let address = stage.address();
    let count = dice.between(8, 16);
    let mut command;
    match (plain, round % 2) {
        (Plain::Pools, 0) => {
            command = Command::new("python3");
            command.args(["-c", POOL_PY, &address.ip().to_string(), &address.port().to_string()]);
            command.args([count.to_string(), dice.between(1, 9_999).to_string()]);
        }
        (Plain::Pools, _) => {
            command = Command::new("node");
            command.args(["-e", POOL_JS, &address.ip().to_string(), &address.port().to_string()]);
            command.arg(count.to_string());
        }
        (Plain::Goaway, _) => {
            command = Command::new("node");
            command.args(["-e", HTTP2_JS, &address.ip().to_string(), &address.port().to_string()]);
            command.arg((count * 3).to_string());
        }
        _ => {
            command = Command::new("curl");
            command.args(["-s", "-w", "answered %{http_code}\\n", "--max-time", "60"]);
            match dice.between(0, 3) {
                0 => _ = command.arg("-I"),
                1 => _ = command.args(["-d", &"x".repeat(2_000)]),
                _ => {}
            }
            for _ in 0..count {
                let size = SIZES[dice.between(0, 3) as usize];
                command.args(["-o", "/dev/null", &format!("http://{address}/{size}")]);
            }
        }
    }
    let output = command.stdin(Stdio::null()).output().context("cannot start a client")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let what = format!("{command:?}: {:?} {said}", output.status.code());
    stage.diary.note("client", 0, what.chars().take(300).collect::<String>());
    ensure!(output.status.success(), "{what}");
    Ok(u32::try_from(text.matches("answered").count())?)
}

/// Python uses a connection that nginx has closed while it was idle.
pub(super) fn ignored_close(stage: Stage<'_>, dice: &mut Dice) -> anyhow::Result<Done> {
    let files = stage.folder.canonicalize()?.join("files");
    fs::create_dir_all(&files)?;
    let config = nginx(&files, &stage.port.to_string(), dice)?;
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(&files);
    let _nginx = Running::start(stage, &files, command, stage.port)?;
    let address = stage.address();
    let mut python = Command::new("python3");
    python.args(["-c", LATE_PY, &address.ip().to_string(), &address.port().to_string()]);
    // nginx waits for 2 s.
    python.arg((2.0 + stage.rtt.as_secs_f64() + dice.scaled(0.05, 2.0)).to_string());
    let output = python.stdin(Stdio::null()).output().context("cannot start python3")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    stage.diary.note("client", 0, text.trim());
    fs::remove_dir_all(&files).context("cannot remove the programs' files")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(text.contains("RemoteDisconnected"), "python3: {text} {said}");
    let fields: Vec<u64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [port, began, ended] = fields[..] else { bail!("python3: {text}") };
    let port = u16::try_from(port)?;
    Ok(Done { port, number: 1, opened: began, began, ended, end: End::Eof(0) })
}

/// A request by curl on a connection of its own; its exit code says what it saw. It tells how long that took, and the
/// end is when it has ended.
pub(super) fn curl(
    stage: Stage<'_>,
    script: &str,
    patience: Option<Duration>,
    body: usize,
) -> anyhow::Result<(i32, Done)> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-o", "/dev/null", "-w", "%{local_port} %{time_total}"]);
    curl.args(["-H", &format!("X-Do: {script}"), "-H", "Expect:"]);
    if let Some(patience) = patience {
        curl.args(["-m", &patience.as_secs_f64().to_string()]);
    }
    if body > 0 {
        curl.args(["-d", &"x".repeat(body)]);
    }
    let output = curl.arg(format!("http://{}/curl", stage.address())).stdin(Stdio::null()).output();
    let output = output.context("cannot start curl")?;
    let ended = stage.diary.clock.now();
    let text = String::from_utf8_lossy(&output.stdout);
    let code = output.status.code().context("curl was killed")?;
    stage.diary.note("curl", 0, format!("asks {script}, ends with {code}: {text}"));
    let (port, total) = text.split_once(' ').with_context(|| format!("curl: {text}"))?;
    let total: f64 = total.parse()?;
    let began = ended.saturating_sub(super::nanos(Duration::from_secs(1), total));
    let port = port.parse()?;
    Ok((code, Done { port, number: 0, opened: began, began, ended, end: End::Eof(0) }))
}

fn nginx(files: &std::path::Path, listen: &str, dice: &mut Dice) -> anyhow::Result<PathBuf> {
    let documents = files.join("documents");
    fs::create_dir_all(&documents)?;
    for size in SIZES {
        fs::write(documents.join(size.to_string()), "x".repeat(size))?;
    }
    let root = files.display();
    let requests = dice.between(3, 9);
    let config = files.join("nginx.conf");
    let text = format!(
        "daemon off; master_process off; pid {root}/pid; error_log stderr; user root;
        events {{}}
        http {{
            client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
            fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
            access_log off; keepalive_timeout 2s; keepalive_requests {requests};
            server {{ listen {listen}; root {root}/documents; }}
        }}"
    );
    fs::write(&config, text)?;
    Ok(config)
}

fn haproxy(port: u16, behind: u16) -> String {
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
         \x20 timeout http-keep-alive 1s\n\
         frontend front\n  bind :{port}\n  default_backend back\n\
         backend back\n  server nginx 127.0.0.1:{behind}\n"
    )
}

/// A server; ended when it is dropped.
struct Running(Child);

impl Running {
    fn start(
        stage: Stage<'_>,
        files: &std::path::Path,
        mut command: Command,
        port: u16,
    ) -> anyhow::Result<Self> {
        let log = File::options().create(true).append(true).open(files.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = stage.lab.server.run(|| command.spawn())?.context("cannot start a server")?;
        let running = Self(child);
        let until = Instant::now() + START_LIMIT;
        // Over the loopback interface, which is not captured.
        let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        while !stage.lab.server.run(listens)? {
            if Instant::now() > until {
                let log = fs::read_to_string(files.join("log")).unwrap_or_default();
                bail!("no server listens on {port}: {log}");
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One connection at a time, which is used again if the server lets it; it closes the last one itself.
const POOL_PY: &str = r#"
import http.client, random, sys, time
host, port, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
random.seed(seed)
c = http.client.HTTPConnection(host, port, timeout=20)
for i in range(count):
    c.request(random.choice(["GET", "GET", "HEAD"]), "/" + random.choice(["200", "3000", "20000"]))
    r = c.getresponse()
    r.read()
    print("answered", r.status)
    time.sleep(random.random() * 0.2)
if random.random() < 0.5:
    time.sleep(2.5)
c.close()
"#;

/// Waits for longer than the server does, and asks.
const LATE_PY: &str = r#"
import http.client, sys, time
c = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=20)
c.request("GET", "/200")
c.getresponse().read()
port = c.sock.getsockname()[1]
time.sleep(float(sys.argv[3]))
began = time.monotonic_ns()
try:
    c.request("GET", "/3000")
    c.getresponse().read()
    print("answered")
except Exception as why:
    print(port, began, time.monotonic_ns(), type(why).__name__)
"#;

/// Three connections, and what the agent does with them.
const POOL_JS: &str = r#"
const http = require('http');
const [host, port, count] = process.argv.slice(1);
const agent = new http.Agent({ keepAlive: true, maxSockets: 3 });
let left = +count;
for (let i = 0; i < +count; i++) {
  http.get({ host, port, agent, path: '/' + [200, 3000, 20000][i % 3] }, (r) => {
    r.resume();
    r.on('end', () => {
      console.log('answered', r.statusCode);
      if (--left === 0) setTimeout(() => process.exit(0), 500);
    });
  });
}
"#;

/// Requests one after the other, on a new session when the last one is going away.
const HTTP2_JS: &str = r#"
const http2 = require('http2');
const [host, port, count] = process.argv.slice(1);
let left = +count, session = null, n = 0;
const fail = (e) => { console.error(e); process.exit(1); };
function open() {
  const s = session = http2.connect('http://' + host + ':' + port);
  s.on('goaway', (code) => { s.gone = true; if (code) fail('GOAWAY ' + code); });
  s.on('error', fail);
}
function next() {
  if (left-- === 0) return session.close();
  if (!session || session.gone || session.closed || session.destroyed) open();
  const path = '/' + [200, 3000, 20000][n++ % 3];
  const r = session.request({ ':path': path, ':method': n % 5 ? 'GET' : 'HEAD' });
  let status = 0;
  r.on('response', (h) => { status = h[':status']; });
  r.on('error', fail);
  r.resume();
  r.on('close', () => { console.log('answered', status); setTimeout(next, Math.random() * 60); });
}
next();
"#;

const SIZES: [usize; 4] = [0, 200, 3_000, 20_000];
const START_LIMIT: Duration = Duration::from_secs(15);
