//! Servers and a client that people run.

use std::{
    fs::File,
    net::{Ipv4Addr, TcpStream},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use super::{lab::Host, site::Site};

/// A server that listens on port 80 until it is dropped.
pub(crate) struct Peer {
    process: Child,
    /// Its documents, each named for its bytes, and its configuration.
    _site: Site,
}

impl Peer {
    /// nginx, which serves its documents, with these directives.
    pub(crate) fn nginx(host: &Host, directives: &str) -> Self {
        let site = Site::new("known-causes-nginx");
        let (documents, pid) = (site.documents(), site.path("pid"));
        let (documents, pid) = (documents.display(), pid.display());
        let config = site.write(
            "nginx.conf",
            &format!(
                "daemon off; pid {pid}; error_log stderr; worker_processes 1; events {{}}
                http {{
                    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                    uwsgi_temp_path uwsgi; scgi_temp_path scgi; access_log off; sendfile on;
                    server {{ listen 80; root {documents}; {directives} }}
                }}"
            ),
        );
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "nginx", "-e", "stderr", "-c"]).arg(config);
        command.arg("-p").arg(site.path("."));
        Self::start(host, command, site)
    }

    /// Apache, which serves its documents.
    pub(crate) fn apache(host: &Host) -> Self {
        const MODULES: &str = "/usr/lib/apache2/modules";
        let site = Site::new("known-causes-apache");
        let (documents, root) = (site.documents(), site.path("."));
        let (documents, root) = (documents.display(), root.display());
        let config = site.write(
            "apache.conf",
            &format!(
                "ServerRoot {root}\nDefaultRuntimeDir {root}\nPidFile pid\nServerName localhost
                LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
                LoadModule authz_core_module {MODULES}/mod_authz_core.so
                ErrorLog /dev/stderr\nUser www-data\nGroup www-data
                Listen 80\nDocumentRoot {documents}\n"
            ),
        );
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "apache2", "-DFOREGROUND", "-f"]).arg(config);
        Self::start(host, command, site)
    }

    fn start(host: &Host, mut command: Command, site: Site) -> Self {
        /// A server that takes longer does not start. Ours.
        const LIMIT: Duration = Duration::from_secs(20);
        let log = File::create(site.path("log")).expect("it is ours");
        command.stdout(log.try_clone().expect("a descriptor is free")).stderr(log);
        // From a thread that lives as long as the test: with it the kernel ends the server.
        let inside = host.namespace.enter().expect("who made a namespace may enter it");
        let process = command.spawn().expect("util-linux is installed");
        let deadline = Instant::now() + LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, 80)).is_err() {
            assert!(Instant::now() < deadline, "no server: {}", site.read("log"));
            thread::sleep(Duration::from_millis(10));
        }
        drop(inside);
        Self { process, _site: site }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // TERM, so that its workers end, too.
        let id = self.process.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.process.wait();
    }
}

/// Fetches each of `paths` from `server` with curl, on one connection; how long the body of each took
/// to come.
pub(crate) fn curl(client: &Host, server: &Host, paths: &[&str]) -> Vec<Duration> {
    let mut command = Command::new("curl");
    command.args(["--http1.1", "-sS", "--fail", "-w", "%{time_starttransfer} %{time_total}\n"]);
    for path in paths {
        command.args(["-o", "/dev/null", &format!("http://{}/{path}", server.address)]);
    }
    let output = client.inside(|| command.output()).expect("curl is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    let body = |line: &str| {
        let (first, all) = line.split_once(' ')?;
        Some(Duration::from_secs_f64(all.parse::<f64>().ok()? - first.parse::<f64>().ok()?))
    };
    said.lines().map(|line| body(line).expect("two numbers were asked for")).collect()
}
