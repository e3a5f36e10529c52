#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
//! `ackwise tune` on servers that run: what it sets helps, and everything is given back, also after
//! `SIGKILL`.
//!
//! Servers listen on loopback, on a port of their own. Where root or a server is missing, a test says so
//! and what to do, and does not fail.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    Namespace,
    sockets::{Query, SocketTable, TcpSocket},
};
use ackwise_testing::{debian, inconclusive, skip};
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};
use serde_json::Value;
use socket2::{Domain, SockRef, Socket, Type};

#[path = "tune/compare.rs"]
mod compare;
#[path = "tune/group.rs"]
mod group;
#[path = "tune/in_flight.rs"]
mod in_flight;
#[cfg(feature = "ebpf")]
#[path = "tune/pace.rs"]
mod pace;
#[path = "tune/prefork.rs"]
mod prefork;
mod schema;
#[path = "tune/upward.rs"]
mod upward;
#[path = "tune/users.rs"]
mod users;

/// Head and body are written apart with Nagle's algorithm on, as Python does by default.
const PYTHON: &str = r#"
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "300")
        self.end_headers()
        self.wfile.write(b"x" * 300)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"#;

/// The JDK's own server, which writes head and body apart.
const JAVA: &str = r#"
import com.sun.net.httpserver.*;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
public class Page {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 100);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 300);
            exchange.getResponseBody().write(new byte[300]);
            exchange.close();
        });
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}
"#;

/// A server that turns Nagle's algorithm on for every connection that it accepts.
const GO: &str = r#"
package main
import ("bufio"; "fmt"; "net"; "net/http"; "os")
func main() {
    listener, _ := net.Listen("tcp", "127.0.0.1:" + os.Args[1])
    for {
        connection, failed := listener.Accept()
        if failed != nil { return }
        connection.(*net.TCPConn).SetNoDelay(false)
        go func() {
            defer connection.Close()
            reader := bufio.NewReader(connection)
            for {
                request, failed := http.ReadRequest(reader)
                if failed != nil { return }
                request.Body.Close()
                fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n")
                connection.Write(make([]byte, 300))
            }
        }()
    }
}
"#;

#[test]
fn python_stalls_until_it_is_tuned() {
    is_cured("python_stalls_until_it_is_tuned", |_, port| {
        let mut python = Command::new(program("python3", "python3")?);
        python.args(["-c", PYTHON, &port.to_string()]);
        Ok(python)
    });
}

#[test]
fn the_jdk_s_server_stalls_until_it_is_tuned() {
    is_cured("the_jdk_s_server_stalls_until_it_is_tuned", |directory, port| {
        let mut java = Command::new(program("java", "default-jdk-headless")?);
        let source = directory.join("Page.java");
        fs::write(&source, JAVA).unwrap();
        java.arg(source).arg(port.to_string());
        Ok(java)
    });
}

#[test]
fn go_without_no_delay_is_cured_connection_by_connection() {
    is_cured("go_without_no_delay_is_cured_connection_by_connection", |directory, port| {
        let go = program("go", "golang-go")?;
        let (source, built) = (directory.join("page.go"), directory.join("page"));
        fs::write(&source, GO).unwrap();
        let mut build = Command::new(go);
        build.arg("build").arg("-o").arg(&built).arg(source).current_dir(directory);
        build.env("GOCACHE", directory.join("cache")).env("GOFLAGS", "-mod=mod");
        let built_well = build.output().is_ok_and(|output| output.status.success());
        assert!(built_well, "Go cannot build the server");
        let mut page = Command::new(built);
        // Since Go 1.24, it listens with MPTCP where the kernel has it.
        page.arg(port.to_string());
        Ok(page)
    });
}

/// The proxy's client waits for the server behind it, which alone is tuned.
#[test]
fn a_server_behind_nginx_stalls_until_it_is_tuned() {
    let test = "a_server_behind_nginx_stalls_until_it_is_tuned";
    run(test, || {
        let (directory, nginx) = (Directory::new(test), program("nginx", "nginx")?);
        let (front, port) = (free_port(), free_port());
        let mut python = Command::new(program("python3", "python3")?);
        python.args(["-c", PYTHON, &port.to_string()]);
        let _behind = Running::start(python, port);
        let (path, config) = (directory.0.display(), directory.0.join("nginx.conf"));
        let text = format!(
            "daemon off; pid {path}/pid; error_log stderr; worker_processes 1; user root;
            events {{}}
            http {{
                client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
                fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;
                scgi_temp_path {path}/scgi; access_log off;
                upstream page {{ server 127.0.0.1:{port}; keepalive 4; }}
                server {{
                    listen 127.0.0.1:{front};
                    location / {{
                        proxy_pass http://page; proxy_http_version 1.1;
                        proxy_set_header Connection \"\"; proxy_buffering off;
                    }}
                }}
            }}"
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(&directory.0);
        let _front = Running::start(command, front);
        let slow = |port| median_response(port);
        let before = slow(front);
        let tuned = Tuning::start(&["--port", &port.to_string(), "--nodelay"]);
        // The connections between the two were open before.
        let after = slow(front);
        drop(tuned);
        let ms = Duration::from_millis;
        if before < ms(30) {
            inconclusive(test, format!("there was no stall to remove: {before:?}"));
        } else {
            assert!(after < before / 2, "before {before:?}, after {after:?}");
        }
        Ok(())
    });
}

#[test]
fn after_sigkill_a_keeper_gives_everything_back() {
    let test = "after_sigkill_a_keeper_gives_everything_back";
    run(test, || {
        let own = Own::new();
        let tuning =
            Tuning::start(&["--port", &own.port.to_string(), "--nodelay", "--unsent", "16KiB"]);
        own.wait_for((true, 16_384));
        tuning.kill();
        own.wait_for((false, 0));
        assert_eq!(journals(&own), Vec::<PathBuf>::new());
        Ok(())
    });
}

#[test]
fn after_sigkill_of_both_undo_gives_back_what_is_still_there() {
    let test = "after_sigkill_of_both_undo_gives_back_what_is_still_there";
    run(test, || {
        let mut own = Own::new();
        let gone = TcpStream::connect(own.address()).unwrap();
        let accepted = own.listener.accept().unwrap().0;
        let tuning = Tuning::start(&["--port", &own.port.to_string(), "--nodelay"]);
        own.wait_for((true, 0));
        let set = |own: &Own| own.connection.nodelay().unwrap();
        wait_until("the connection is tuned", || set(&own) && accepted.nodelay().unwrap());
        // What it accepts meanwhile inherits, and keeps it.
        let _client = TcpStream::connect(own.address()).unwrap();
        let inherited = own.listener.accept().unwrap().0;
        assert!(inherited.nodelay().unwrap());
        // A second run would take the first one's values for the server's.
        let port = own.port.to_string();
        let second = ackwise(&["--port", &port, "--unsent", "16KB", "--apply"]);
        let text = String::from_utf8(second.stderr).unwrap();
        assert_eq!(second.status.code(), Some(2), "{text}");
        assert!(text.contains(&format!("tunes port {port} already")), "{text}");
        // While the run is there, nothing is undone.
        let left = String::from_utf8(undo().stdout).unwrap();
        assert!(left.contains(&format!("still tunes port {}", own.port)), "{left}");
        assert!(set(&own));

        tuning.kill_keeper();
        tuning.kill();
        assert!(set(&own), "nobody is left to give back");
        assert_eq!(journals(&own).len(), 1);
        drop((gone, accepted));
        // A value that the server set since stays.
        SockRef::from(&own.listener).set_tcp_nodelay(false).unwrap();
        let undone = undo();
        assert_eq!(undone.status.code(), Some(0), "{undone:?}");
        assert!(!set(&own));
        own.wait_for((false, 0));
        let text = String::from_utf8(undone.stdout).unwrap();
        assert!(text.contains("the socket is gone"), "{text}");
        assert!(inherited.nodelay().unwrap());
        assert_eq!(journals(&own), Vec::<PathBuf>::new());
        own.listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Ok(())
    });
}

#[test]
fn every_act_is_a_document_and_ctrl_c_gives_back() {
    let test = "every_act_is_a_document_and_ctrl_c_gives_back";
    run(test, || {
        let own = Own::new();
        let mut tuning = Tuning::start(&["--port", &own.port.to_string(), "--nodelay", "--json"]);
        own.wait_for((true, 0));
        wait_until("the connection is tuned", || own.connection.nodelay().unwrap());
        let text = tuning.end();
        let acts: Vec<String> = text
            .lines()
            .map(|line| schema::keeping_to("tune", line)["act"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(acts, ["set", "set", "given-back", "given-back", "ended"], "{text}");
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((&first["old"], &first["new"]), (&Value::from(0), &Value::from(1)));
        assert_eq!(first["socket"]["local"], own.address().to_string());
        assert!(!own.connection.nodelay().unwrap());
        own.wait_for((false, 0));
        Ok(())
    });
}

#[test]
fn a_dry_run_changes_nothing() {
    let test = "a_dry_run_changes_nothing";
    run(test, || {
        let own = Own::new();
        let port = own.port.to_string();
        let output =
            ackwise(&["--port", &port, "--nodelay", "--unsent", "16KB", "--watch", "100ms"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for part in [
            "would-set   TCP_NODELAY 0 -> 1 on listener 127.0.0.1:",
            "TCP_NOTSENT_LOWAT 0 -> 16000",
            "TCP_NODELAY = 1 on 1 of 1 open connection",
            "no segment was seen waiting",
            "nothing was changed",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        own.wait_for((false, 0));
        assert!(!own.connection.nodelay().unwrap());
        Ok(())
    });
}

/// The names of the options are there, and one line says what is missing.
#[cfg(not(feature = "ebpf"))]
#[test]
fn without_ebpf_pacing_is_refused_in_one_line() {
    let test = "without_ebpf_pacing_is_refused_in_one_line";
    run(test, || {
        let own = Own::new();
        SockRef::from(&own.listener).set_tcp_congestion(b"cubic").unwrap();
        let refused = ackwise(&["--port", &own.port.to_string(), "--pace", "--apply"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains("built without eBPF") && text.trim().lines().count() == 1, "{text}");
        Ok(())
    });
}

/// Only what is idle closes: not a request in flight, not what is unread, not an excluded client.
#[test]
fn a_request_in_flight_is_never_closed() {
    let test = "a_request_in_flight_is_never_closed";
    run(test, || {
        let own = Own::new();
        // The first has sent nothing yet.
        let [idle, in_flight, unread, excluded] = [1, 1, 1, 2].map(|host| own.pair(host));
        for (client, server) in [&idle, &in_flight, &unread, &excluded] {
            exchange(client, server);
        }
        // Several ticks later, so that the order is known.
        thread::sleep(Duration::from_millis(30));
        (&in_flight.0).write_all(b"request").unwrap();
        (&in_flight.1).read_exact(&mut [0; 7]).unwrap();
        (&unread.0).write_all(b"request").unwrap();
        let port = own.port.to_string();
        let arguments = ["--port", &port, "--max-connections", "1", "--unsure-after", "1s"];
        let exclude = ["--exclude", "127.0.0.2"];
        let mut tuning = Tuning::start(&[&arguments[..], &exclude[..]].concat());
        idle.0.set_read_timeout(Some(LIMIT)).unwrap();
        assert_eq!((&idle.0).read(&mut [0]).unwrap(), 0, "a FIN");
        assert_eq!((&idle.1).read(&mut [0]).unwrap(), 0, "the end of the stream");
        // Four connections are too many still, and longer than any patience.
        thread::sleep(Duration::from_millis(1_500));
        let text = tuning.end();
        for (client, server) in [&in_flight, &unread, &excluded] {
            (&*server).write_all(b"response").unwrap();
            client.set_read_timeout(Some(LIMIT)).unwrap();
            (&*client).read_exact(&mut [0; 8]).expect("it is still open");
        }
        let closed = text.lines().filter(|line| line.contains(" closed      127.0.0.1:")).count();
        assert_eq!(closed, 1, "{text}");
        assert!(text.contains("1 idle connection closed"), "{text}");
        Ok(())
    });
}

/// lighttpd accepts no connection beyond its limit, and looks once a second whether it may again: so places have to be free
/// before a client comes.
#[test]
fn before_its_limit_lighttpd_has_room_for_one_more() {
    let test = "before_its_limit_lighttpd_has_room_for_one_more";
    run(test, || {
        let (directory, port) = (Directory::new(test), free_port());
        let lighttpd = program("lighttpd", "lighttpd")?;
        fs::write(directory.0.join("page"), [b'x'; 300]).unwrap();
        let config = directory.0.join("lighttpd.conf");
        let text = format!(
            "server.document-root = \"{}\"
            server.port = {port}
            server.bind = \"127.0.0.1\"
            server.max-connections = 20
            server.max-keep-alive-idle = 120",
            directory.0.display()
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(lighttpd);
        command.arg("-D").arg("-f").arg(config);
        let _lighttpd = Running::start(command, port);
        let request = |stream: &TcpStream| -> std::io::Result<usize> {
            let mut stream = stream;
            stream.set_read_timeout(Some(Duration::from_secs(4)))?;
            stream.write_all(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")?;
            stream.read(&mut [0; 4_096])
        };
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        // The knock of `Running` may still count for a moment.
        thread::sleep(Duration::from_millis(1_500));
        let idle: Vec<_> = (0..20).map(|_| connect()).collect();
        for stream in &idle {
            assert!(request(stream).expect("below the limit") > 300);
        }
        let refused = connect();
        assert!(request(&refused).is_err(), "lighttpd's limit does not hold");
        drop(refused);
        thread::sleep(Duration::from_millis(1_200));
        let port = port.to_string();
        let arguments = ["--port", &port, "--max-connections", "20", "--unsure-after", "1s"];
        let mut tuning = Tuning::start(&arguments);
        // Two of the twenty places become free, and lighttpd sees that.
        thread::sleep(Duration::from_millis(2_500));
        let began = Instant::now();
        assert!(request(&connect()).expect("it is served") > 300);
        let took = began.elapsed();
        let text = tuning.end();
        assert!(took < Duration::from_millis(500), "{took:?}: {text}");
        // The refused connection may count too, as long as the server has not seen its end.
        let closed = text.lines().filter(|line| line.contains(" closed      ")).count();
        assert!((2..=5).contains(&closed), "{text}");
        Ok(())
    });
}

/// Workers that inherit one listening socket, as in Apache's prefork and gunicorn. The parent accepts nothing.
const PREFORK: &str = r#"
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
for _ in range(2):
    if os.fork() == 0:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
            if os.fork() == 0:
                listener.close()
                while data := connection.recv(100):
                    option = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                    connection.sendall(b"%d" % option)
                os._exit(0)
            connection.close()
while True:
    time.sleep(1)
"#;

/// The socket belongs to several processes, and each connection to one that the run has not seen before.
#[test]
fn sockets_of_prefork_servers_are_found() {
    let test = "sockets_of_prefork_servers_are_found";
    run(test, || {
        let port = free_port();
        let mut python = Command::new(program("python3", "python3")?);
        python.args(["-c", PREFORK, &port.to_string()]);
        let _prefork = Running::start(python, port);
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let before: Vec<_> = (0..4).map(|_| connect()).collect();
        let option = |mut stream: &TcpStream| {
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            stream.write_all(b"?").unwrap();
            let mut answer = [0];
            stream.read_exact(&mut answer).unwrap();
            answer == *b"1"
        };
        assert!(!before.iter().any(option));
        // A socket of another protocol with the same port stays as it is.
        let datagrams = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut tuning = Tuning::start(&["--port", &port.to_string(), "--nodelay"]);
        let after: Vec<_> = (0..4).map(|_| connect()).collect();
        wait_until("all connections are tuned", || before.iter().chain(&after).all(option));
        assert!(datagrams.local_addr().is_ok());
        let text = tuning.end();
        assert!(!text.contains("not restored"), "{text}");
        wait_until("connections of before are restored", || !before.iter().any(option));
        Ok(())
    });
}

/// nginx does not limit connections here, but has no descriptor for one more.
#[test]
fn without_descriptors_nginx_serves_one_more() {
    let test = "without_descriptors_nginx_serves_one_more";
    run(test, || {
        let (directory, port) = (Directory::new(test), free_port());
        let nginx = program("nginx", "nginx")?;
        let (path, config) = (directory.0.display(), directory.0.join("nginx.conf"));
        let text = format!(
            "daemon off; pid {path}/pid; error_log /dev/null crit; worker_processes 1; user root;
            worker_rlimit_nofile 30;
            events {{ worker_connections 500; }}
            http {{
                client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
                fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;
                scgi_temp_path {path}/scgi; access_log off; keepalive_timeout 300s;
                server {{ listen 127.0.0.1:{port}; location / {{ return 200 page; }} }}
            }}"
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(&directory.0);
        let _nginx = Running::start(command, port);
        let request = |mut stream: &TcpStream| -> std::io::Result<usize> {
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")?;
            stream.read(&mut [0; 4_096])
        };
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let idle: Vec<_> =
            (0..40).map(|_| connect()).take_while(|it| request(it).is_ok()).collect();
        assert!((5..30).contains(&idle.len()), "{} were served", idle.len());
        thread::sleep(Duration::from_millis(1_200));
        let port = port.to_string();
        let arguments = ["--port", &port, "--max-connections", "400", "--unsure-after", "1s"];
        let one_more = connect();
        let mut tuning = Tuning::start(&arguments);
        one_more.set_read_timeout(Some(LIMIT)).unwrap();
        (&one_more).write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!((&one_more).read(&mut [0; 4_096]).expect("it is served") > 100);
        let text = tuning.end();
        assert!(text.contains("of 30 descriptors"), "{text}");
        Ok(())
    });
}

/// The kernel answers a request that comes after the close with RST.
#[test]
fn a_request_that_crosses_a_close_is_counted() {
    let test = "a_request_that_crosses_a_close_is_counted";
    run(test, || {
        let own = Own::new();
        let [crossing, clean] = [1, 1].map(|host| own.pair(host));
        for (client, server) in [&crossing, &clean] {
            exchange(client, server);
        }
        thread::sleep(Duration::from_millis(30));
        let port = own.port.to_string();
        let arguments = ["--port", &port, "--max-connections", "1", "--unsure-after", "1s"];
        let mut tuning = Tuning::start(&arguments);
        for (client, server) in [&crossing, &clean] {
            server.set_read_timeout(Some(LIMIT)).unwrap();
            assert_eq!((&*server).read(&mut [0]).unwrap(), 0, "the end of the stream");
            client.set_read_timeout(Some(LIMIT)).unwrap();
            assert_eq!((&*client).read(&mut [0]).unwrap(), 0, "a FIN");
        }
        drop(crossing.1);
        (&crossing.0).write_all(b"request").unwrap();
        drop(clean);
        let text = tuning.end();
        assert!(text.contains("1 of 2 closed connections ended with a reset"), "{text}");
        Ok(())
    });
}

/// A client that does not read gets a small buffer, and autotuning is on again afterwards.
#[test]
fn buffers_keep_to_their_memory_and_are_given_back() {
    let test = "buffers_keep_to_their_memory_and_are_given_back";
    run(test, || {
        let own = Own::new();
        let pairs = [1, 1].map(|host| own.pair(host));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let size =
            |pair: &(TcpStream, TcpStream)| SockRef::from(&pair.1).send_buffer_size().unwrap();
        thread::scope(|scope| {
            for (client, server) in &pairs {
                scope.spawn(|| while (&*server).write_all(&[0; 16_384]).is_ok() {});
                scope.spawn(|| {
                    let mut block = [0; 4_096];
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let _ = (&*client).read(&mut block);
                        thread::sleep(Duration::from_millis(20));
                    }
                });
            }
            thread::sleep(Duration::from_millis(500));
            let before = pairs.each_ref().map(size);
            assert!(before.iter().all(|size| *size > 100_000), "{before:?}");
            let port = own.port.to_string();
            let dry = ackwise(&["--port", &port, "--buffer-memory", "128KiB", "--watch", "1s"]);
            let text = String::from_utf8(dry.stdout).unwrap();
            assert!(text.matches("would-set   SO_SNDBUF").count() == 2, "{text}");
            assert_eq!(pairs.each_ref().map(size), before, "a dry run changes nothing");
            let mut tuning = Tuning::start(&["--port", &port, "--buffer-memory", "128KiB"]);
            wait_until("the buffers share their memory", || {
                pairs.iter().map(size).sum::<usize>() <= 128 * 1_024
            });
            let text = tuning.end();
            assert!(text.contains("can use"), "{text}");
            let after = pairs.each_ref().map(size);
            assert!(after.iter().zip(&before).all(|(after, before)| after >= before), "{after:?}");
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            for (client, server) in &pairs {
                let _ = (
                    client.shutdown(std::net::Shutdown::Both),
                    server.shutdown(std::net::Shutdown::Both),
                );
            }
        });
        Ok(())
    });
}

/// A container's server: its processes are visible, its sockets are in another network namespace.
#[test]
fn a_server_in_another_namespace_is_named_and_reached() {
    let test = "a_server_in_another_namespace_is_named_and_reached";
    run(test, || {
        let namespace = Namespace::create().map_err(|error| error.to_string())?;
        let mut python = Command::new(program("python3", "python3")?);
        let port = free_port();
        python.args(["-c", PYTHON, &port.to_string()]);
        let running = namespace.run(|| Running::start(python, port)).unwrap();
        let (pid, port) = (running.0.id().to_string(), port.to_string());
        let elsewhere = ackwise(&["--port", &port, "--nodelay"]);
        let text = String::from_utf8(elsewhere.stderr).unwrap();
        assert!(text.contains(&format!("(--pid {pid})")), "{text}");
        let file = format!("/proc/{pid}/ns/net");
        for place in [["--pid", &pid], ["--netns", &file]] {
            let arguments = [&["--port", &port, "--nodelay"][..], &place[..]].concat();
            let text = Tuning::start(&arguments).end();
            assert!(text.contains("given-back  TCP_NODELAY 1 -> 0"), "{text}");
        }
        Ok(())
    });
}

/// A server that writes whenever it can, for a client that does not read.
#[test]
fn unsent_data_is_bounded() {
    let test = "unsent_data_is_bounded";
    run(test, || {
        let queue = |arguments: Option<[&str; 2]>| {
            let own = Own::new();
            let port = own.port.to_string();
            let tuning = arguments
                .map(|unsent| Tuning::start(&[&["--port", &port][..], &unsent[..]].concat()));
            let (_client, mut server) = own.pair(1);
            server.set_nonblocking(true).unwrap();
            let mut written = 0;
            while let Ok(size) = server.write(&[0; 16_384]) {
                written += size;
                assert!(written < 1 << 30, "the kernel takes everything");
            }
            let mut unsent = 0;
            let query = Query::local_port(own.port).with_info();
            let mut table = SocketTable::here().unwrap();
            let visit = |socket: &TcpSocket| {
                unsent = unsent.max(socket.info.map_or(0, |info| info.notsent_bytes));
            };
            table.each(query, visit).unwrap();
            drop(tuning);
            unsent
        };
        let (free, bounded) = (queue(None), queue(Some(["--unsent", "16KB"])));
        // One write more than the bound.
        assert!(bounded < 16_000 + 65_536 && free > 4 * bounded, "{free} and {bounded} bytes");
        Ok(())
    });
}

#[test]
fn only_root_changes_other_programs() {
    let test = "only_root_changes_other_programs";
    run(test, || {
        let own = Own::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
        command.args(["tune", "--nodelay", "--apply", "--port", &own.port.to_string()]);
        // A user who may not enter the directory of the build cannot be tried.
        let output = command.uid(NOBODY).output().map_err(|error| {
            format!("ackwise as another user ({error}); build where all users can read")
        })?;
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("not root") && text.lines().count() == 1, "{text}");
        own.wait_for((false, 0));
        Ok(())
    });
}

#[test]
fn what_cannot_be_tuned_is_one_line() {
    let port = free_port().to_string();
    let line = |arguments: &[&str]| {
        let output = ackwise(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    assert!(line(&["--port", &port]).contains("nothing to do"));
    let absent = line(&["--port", &port, "--nodelay"]);
    assert!(absent.contains(&format!("no socket listens on port {port}")), "{absent}");
    let gone = line(&["--port", &port, "--nodelay", "--pid", "4294967295"]);
    assert!(gone.contains("process 4294967295 does not exist"), "{gone}");
    let none = line(&["--port", &port, "--nodelay", "--netns", "/nowhere"]);
    assert!(none.contains("cannot open the network namespace /nowhere"), "{none}");
    let no_group = line(&["--of", "/tmp"]);
    assert!(no_group.contains("no control group /tmp: No such file"), "{no_group}");
    let no_process = line(&["--of", "4294967295"]);
    assert!(no_process.contains("no process 4294967295: "), "{no_process}");
    if geteuid().is_root() {
        let no_namespace = line(&["--port", &port, "--nodelay", "--netns", "/dev/null"]);
        assert!(no_namespace.contains("cannot enter the network namespace"), "{no_namespace}");
    }
}

/// `check` fails before, passes while tuned, and fails again afterwards.
fn is_cured(test: &str, server: impl FnOnce(&Path, u16) -> Result<Command, String>) {
    run(test, || {
        let (directory, port) = (Directory::new(test), free_port());
        let _running = Running::start(server(&directory.0, port)?, port);
        let mut longest_delay = 0.0_f64;
        for _ in 0..ATTEMPTS {
            let before = verdict(port);
            let mut tuning = Tuning::start(&["--port", &port.to_string(), "--nodelay", "--json"]);
            let tuned = verdict(port);
            let said = tuning.end();
            longest_delay = longest_delay.max(longest_delay_in(&said));
            drop(tuning);
            let after = verdict(port);
            if [&*before, &*tuned, &*after] == ["fail", "pass", "fail"] {
                return Ok(());
            }
            eprintln!("{test}: {before}, tuned {tuned}, afterwards {after}: {said}");
        }
        if longest_delay >= DELAYED_ACK_MS {
            inconclusive(test, format!("a connection was found only after {longest_delay} ms"));
            return Ok(());
        }
        panic!("not cured in {ATTEMPTS} attempts");
    });
}

/// After how many milliseconds a connection was found at the latest.
fn longest_delay_in(text: &str) -> f64 {
    // An error is a document of several lines.
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    documents
        .map(|it| it.expect("a document"))
        .filter_map(|document| document["delay_ms"].as_f64())
        .fold(0.0, f64::max)
}

/// Runs a test as root, or says what is missing.
fn run(test: &str, body: impl FnOnce() -> Result<(), String>) {
    if !geteuid().is_root() {
        return skip(test, "root, to change sockets of other processes; run as root");
    }
    if let Err(missing) = body() {
        skip(test, missing);
    }
}

fn verdict(port: u16) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ackwise"))
        .args(["check", "--json", "--stack", "kernel", "--only", "nagle-delayed-ack"])
        .arg(format!("http://127.0.0.1:{port}/"))
        .output()
        .unwrap();
    let card: Value = serde_json::from_slice(&output.stdout).expect("check prints a card");
    let findings = card["results"][0]["findings"].as_array().expect("a card has findings");
    let finding = findings.iter().find(|it| it["id"] == "nagle-delayed-ack");
    finding.expect("it was asked for")["verdict"].as_str().expect("a verdict").to_owned()
}

/// The median time of twenty responses on one connection.
fn median_response(port: u16) -> Duration {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut times: Vec<_> = (0..20)
        .map(|_| {
            let began = Instant::now();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let (mut text, mut buffer) = (Vec::new(), [0; 4_096]);
            // The body begins after the first empty line.
            let body = |text: &[u8]| text.windows(4).position(|it| it == b"\r\n\r\n");
            while body(&text).is_none_or(|at| text.len() < at + 4 + 300) {
                let size = stream.read(&mut buffer).unwrap();
                assert_ne!(size, 0, "the proxy closed");
                text.extend_from_slice(&buffer[..size]);
            }
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[10]
}

/// A listening socket of this test's own, with one connection.
struct Own {
    listener: TcpListener,
    port: u16,
    connection: TcpStream,
    _client: TcpStream,
}

impl Own {
    fn new() -> Self {
        Self::of(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
    }

    fn of(listener: TcpListener) -> Self {
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let connection = listener.accept().unwrap().0;
        Self { listener, port, connection, _client: client }
    }

    /// A client at 127.0.0.HOST, and the server's end.
    fn pair(&self, host: u8) -> (TcpStream, TcpStream) {
        let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        client.bind(&SocketAddr::from(([127, 0, 0, host], 0)).into()).unwrap();
        client.connect(&self.address().into()).unwrap();
        (client.into(), self.listener.accept().unwrap().0)
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Waits until the listening socket has these options.
    #[track_caller]
    fn wait_for(&self, expected: (bool, u32)) {
        let socket = SockRef::from(&self.listener);
        let options = || (socket.tcp_nodelay().unwrap(), socket.tcp_notsent_lowat().unwrap());
        wait_until(&format!("{expected:?} on the listener"), || options() == expected);
    }
}

/// The names of congestion controls are the whole host's, so one test at a time may register them.
fn paces_alone() -> MutexGuard<'static, ()> {
    static PACES: Mutex<()> = Mutex::new(());
    PACES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// One request and its response.
fn exchange(mut client: &TcpStream, mut server: &TcpStream) {
    client.write_all(b"request").unwrap();
    server.read_exact(&mut [0; 7]).unwrap();
    server.write_all(b"response").unwrap();
    client.read_exact(&mut [0; 8]).unwrap();
}

/// The journals that name a test's port.
fn journals(own: &Own) -> Vec<PathBuf> {
    let entries = fs::read_dir("/run/ackwise").into_iter().flatten().flatten();
    let end = format!("-{}.json", own.port);
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.to_string_lossy().ends_with(&end)).collect()
}

fn ackwise(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.arg("tune").args(arguments).output().unwrap()
}

fn undo() -> Output {
    ackwise(&["--undo"])
}

/// A run with `--apply` that has made its first change.
struct Tuning {
    process: Child,
    lines: Receiver<String>,
    /// What was read of them.
    text: String,
}

impl Tuning {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ackwise"))
            .args(["tune", "--apply"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|size| size > 0)
                && sender.send(std::mem::take(&mut line)).is_ok()
            {}
        });
        let mut tuning = Self { process, lines, text: String::new() };
        tuning.read_until(|_| true);
        tuning
    }

    /// Reads lines until there is one that `is_last`.
    fn read_until(&mut self, is_last: impl Fn(&str) -> bool) {
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.unwrap_or_else(|error| panic!("{error}: {}", self.text));
            self.text += &line;
            if is_last(&line) {
                return;
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.process.id()).unwrap())
    }

    /// Ends it as Ctrl-C does, and returns what it printed.
    fn end(&mut self) -> String {
        let _ = kill(self.pid(), Signal::SIGINT);
        self.rest()
    }

    /// What it prints until it ends by itself.
    fn rest(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        text.extend(self.lines.iter());
        self.process.wait().unwrap();
        text
    }

    fn kill(mut self) {
        kill(self.pid(), Signal::SIGKILL).unwrap();
        self.process.wait().unwrap();
    }

    /// Kills the process that would undo the run.
    fn kill_keeper(&self) {
        let children = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = fs::read_to_string(children).unwrap();
        let [keeper] = children.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("one keeper: {children:?}")
        };
        kill(Pid::from_raw(keeper.parse().unwrap()), Signal::SIGKILL).unwrap();
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

/// A server, ended when dropped.
struct Running(Child);

impl Running {
    fn start(mut command: Command, port: u16) -> Self {
        // Apache ends its whole process group, which would be ours.
        command.process_group(0);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Self(quiet.spawn().unwrap());
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        wait_until("the server listens", listens);
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = kill(pid, Signal::SIGTERM);
        let deadline = Instant::now() + Duration::from_secs(3);
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory of a test's own.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ackwise-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Where `program` is, or what to install.
fn program(program: &str, package: &str) -> Result<PathBuf, String> {
    debian::find(program, package).map_err(|missing| missing.to_string())
}

/// A check is repeated so often on a busy machine.
const ATTEMPTS: usize = 3;
/// On a machine that is so busy, a response waits although its connection is tuned afterwards.
const DELAYED_ACK_MS: f64 = 40.0;
/// Debian's user and group for what belongs to nobody.
const NOBODY: u32 = 65_534;
const LIMIT: Duration = Duration::from_secs(30);
