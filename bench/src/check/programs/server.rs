//! The programs, each with the smallest configuration that lets it serve the documents.

use std::process::Command;

use ackwise_testing::debian::{self, APACHE_MODULES, apache_configuration, find};
use anyhow::ensure;

use super::site::{BEHIND, PORT, Site};

/// What serves the documents.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Its processes in the order in which they start.
    pub(super) processes: fn(&Site) -> anyhow::Result<Vec<Process>>,
}

/// How a process starts, and the port on which it then listens.
pub(super) struct Process {
    pub(super) port: u16,
    pub(super) command: Command,
}

/// All of them: servers, proxies, and what programmers use.
pub(super) const ALL: &[Program] = &[
    Program { name: "nginx", processes: |site| Ok(vec![nginx(site, PORT)?]) },
    Program { name: "apache", processes: apache },
    Program { name: "lighttpd", processes: lighttpd },
    Program { name: "h2o", processes: h2o },
    Program { name: "caddy", processes: caddy },
    Program { name: "haproxy", processes: haproxy },
    Program { name: "varnish", processes: varnish },
    Program { name: "node", processes: node },
    Program { name: "go", processes: go },
    Program { name: "jdk", processes: jdk },
    Program { name: "python", processes: python },
    Program { name: "webrick", processes: webrick },
    Program { name: "gunicorn", processes: gunicorn },
];

fn nginx(site: &Site, port: u16) -> anyhow::Result<Process> {
    let root = site.path(".");
    let config = site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid {pid}; error_log stderr; worker_processes 1;
            events {{}}
            http {{
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                types {{ text/html html; }}
                access_log off; sendfile on;
                server {{ listen {port}; root {documents}; }}
            }}",
            pid = site.path("pid").display(),
            documents = site.documents().display()
        ),
    )?;
    let mut command = Command::new(find("nginx", "nginx")?);
    command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(root);
    Ok(Process { port, command })
}

fn apache(site: &Site) -> anyhow::Result<Vec<Process>> {
    let modules = [
        format!("LoadModule dir_module {APACHE_MODULES}/mod_dir.so"),
        format!("LoadModule mime_module {APACHE_MODULES}/mod_mime.so"),
    ];
    let [dir, mime] = modules.each_ref().map(String::as_str);
    let files = ["TypesConfig /dev/null", "AddType text/html .html", "DirectoryIndex index.html"];
    let more = [&[dir, mime], &files[..]].concat();
    let config = apache_configuration(&site.path("."), &site.documents(), PORT, &more);
    let command = debian::apache(&site.write("apache.conf", &config)?)?;
    Ok(vec![Process { port: PORT, command }])
}

fn lighttpd(site: &Site) -> anyhow::Result<Vec<Process>> {
    let config = site.write(
        "lighttpd.conf",
        &format!(
            "server.port = {PORT}\nserver.document-root = \"{}\"\nindex-file.names = (\"index.html\")\n\
             mimetype.assign = (\".html\" => \"text/html\")\n",
            site.documents().display()
        ),
    )?;
    let mut command = Command::new(find("lighttpd", "lighttpd")?);
    command.arg("-D").arg("-f").arg(config);
    Ok(vec![Process { port: PORT, command }])
}

fn h2o(site: &Site) -> anyhow::Result<Vec<Process>> {
    let config = site.write(
        "h2o.yaml",
        &format!(
            "listen: {PORT}\nuser: root\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: {}\n",
            site.documents().display()
        ),
    )?;
    let mut command = Command::new(find("h2o", "h2o")?);
    command.args(["-m", "worker", "-c"]).arg(config);
    Ok(vec![Process { port: PORT, command }])
}

fn caddy(site: &Site) -> anyhow::Result<Vec<Process>> {
    let config = site.write(
        "Caddyfile",
        &format!(
            "{{\n\tadmin off\n\tauto_https off\n}}\n:{PORT} {{\n\troot * {}\n\tfile_server\n}}\n",
            site.documents().display()
        ),
    )?;
    let mut command = Command::new(find("caddy", "caddy")?);
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(config);
    Ok(vec![Process { port: PORT, command }])
}

/// In front of nginx.
fn haproxy(site: &Site) -> anyhow::Result<Vec<Process>> {
    let config = site.write(
        "haproxy.cfg",
        &format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
             frontend front\n  bind :{PORT}\n  default_backend back\n\
             backend back\n  server nginx 127.0.0.1:{BEHIND}\n"
        ),
    )?;
    let mut command = Command::new(find("haproxy", "haproxy")?);
    command.args(["-db", "-f"]).arg(config);
    Ok(vec![nginx(site, BEHIND)?, Process { port: PORT, command }])
}

/// In front of nginx.
fn varnish(site: &Site) -> anyhow::Result<Vec<Process>> {
    let mut command = Command::new(find("varnishd", "varnish")?);
    command.arg("-F").arg("-n").arg(site.path("varnish"));
    command.args(["-a", &format!(":{PORT}"), "-b", &format!("127.0.0.1:{BEHIND}")]);
    command.args(["-s", "malloc,64m"]);
    Ok(vec![nginx(site, BEHIND)?, Process { port: PORT, command }])
}

fn node(site: &Site) -> anyhow::Result<Vec<Process>> {
    let script = site.write("server.js", include_str!("sources/server.js"))?;
    let mut command = Command::new(find("node", "nodejs")?);
    command.arg(script).arg(PORT.to_string()).arg(site.documents());
    Ok(vec![Process { port: PORT, command }])
}

fn go(site: &Site) -> anyhow::Result<Vec<Process>> {
    let (source, program) =
        (site.write("server.go", include_str!("sources/server.go"))?, site.path("server"));
    let mut build = Command::new(find("go", "golang-go")?);
    build.args(["build", "-o"]).arg(&program).arg(source).env("GO111MODULE", "off");
    let built = build.output()?;
    ensure!(built.status.success(), "go build: {}", String::from_utf8_lossy(&built.stderr));
    let mut command = Command::new(program);
    command.arg(PORT.to_string()).arg(site.documents());
    Ok(vec![Process { port: PORT, command }])
}

fn jdk(site: &Site) -> anyhow::Result<Vec<Process>> {
    find("javac", "default-jdk-headless")?;
    let source = site.write("Server.java", include_str!("sources/Server.java"))?;
    let mut command = Command::new(find("java", "default-jdk-headless")?);
    command.arg(source).arg(PORT.to_string()).arg(site.documents());
    Ok(vec![Process { port: PORT, command }])
}

fn python(site: &Site) -> anyhow::Result<Vec<Process>> {
    let mut command = Command::new(find("python3", "python3")?);
    command.args(["-m", "http.server", "--protocol", "HTTP/1.1", "--directory"]);
    command.arg(site.documents()).arg(PORT.to_string());
    Ok(vec![Process { port: PORT, command }])
}

fn webrick(site: &Site) -> anyhow::Result<Vec<Process>> {
    let script = site.write("server.rb", include_str!("sources/server.rb"))?;
    let mut command = Command::new(find("ruby", "ruby-webrick")?);
    command.arg(script).arg(PORT.to_string()).arg(site.documents());
    Ok(vec![Process { port: PORT, command }])
}

/// Its stock worker, which serves one connection at a time and keeps none.
fn gunicorn(site: &Site) -> anyhow::Result<Vec<Process>> {
    site.write("application.py", include_str!("sources/application.py"))?;
    let mut command = Command::new(find("gunicorn", "gunicorn")?);
    command.args(["--bind", &format!("0.0.0.0:{PORT}"), "--workers", "1"]);
    command.arg("--chdir").arg(site.path(".")).arg("application:application");
    Ok(vec![Process { port: PORT, command }])
}
