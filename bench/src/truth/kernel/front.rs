//! A proxy between the client's connection and the program that serves it: nginx or HAProxy on the server's host, with
//! another connection over loopback behind it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use ackwise_linux::Namespace;
use ackwise_testing::debian::{self, find};
use anyhow::{Context, bail};

use super::plan::Front;
use crate::program;
use crate::truth::started::spawn;

/// One that runs; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Proxy {
    process: Child,
    folder: PathBuf,
}

impl Proxy {
    /// Starts it on `host`, and waits until it listens on `port`; what it proxies listens on `behind`.
    pub(super) fn start(
        front: Front,
        host: &Namespace,
        port: u16,
        behind: u16,
    ) -> anyhow::Result<Self> {
        let name = format!("ackwise-front-{}-{port}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let file = folder.join("front.conf");
        let root = folder.display();
        let (text, mut command) = match front {
            Front::Nginx => (nginx(&root.to_string(), port, behind), {
                let mut command = Command::new(find("nginx", "nginx")?);
                command.args(["-e", "stderr", "-p"]).arg(&folder).arg("-c");
                command
            }),
            Front::Haproxy => (haproxy(port, behind), {
                let mut command = Command::new(find("haproxy", "haproxy")?);
                command.args(["-db", "-f"]);
                command
            }),
        };
        fs::write(&file, text)?;
        let log = folder.join("log");
        let it = Self { process: spawn(command.arg(file), host, &log)?, folder };
        if !host.run(|| program::listens(port))? {
            bail!("{front:?} does not listen:\n{}", fs::read_to_string(log).unwrap_or_default());
        }
        Ok(it)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        debian::end(&mut self.process);
        // What remains is in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn nginx(root: &str, port: u16, behind: u16) -> String {
    format!(
        "daemon off; pid {root}/pid; error_log stderr; worker_processes 1; user root;
        events {{}}
        http {{
            access_log off; client_max_body_size 10m; client_body_temp_path {root}/body;
            proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
            uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
            upstream behind {{ server 127.0.0.1:{behind}; keepalive 1; }}
            server {{
                listen {port};
                location / {{
                    proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection \"\";
                }}
            }}
        }}"
    )
}

fn haproxy(port: u16, behind: u16) -> String {
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
         frontend front\n  bind :{port}\n  default_backend back\n\
         backend back\n  http-reuse always\n  server behind 127.0.0.1:{behind}\n"
    )
}
