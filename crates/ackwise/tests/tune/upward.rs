//! Connections of a proxy to the servers behind it, which take descriptors too.

use super::*;

/// Listens, asks the server behind it on each of its connections, and reads from all but the last. It has nine
/// descriptors of ten.
const ASKING: &str = r#"
import resource, select, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
upward = [socket.create_connection((host, int(sys.argv[1]))) for host in sys.argv[2:]]
for one in upward:
    one.sendall(b"request")
resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))
print("ready", flush=True)
open_ones = upward[:-1]
while open_ones:
    for one in select.select(open_ones, [], [])[0]:
        if not one.recv(100):
            open_ones.remove(one)
            one.close()
            print("end", upward.index(one), flush=True)
"#;

/// Of its connections, only those close on which a response has followed the last request and was read.
#[test]
fn upward_a_request_in_flight_is_never_closed() {
    let test = "upward_a_request_in_flight_is_never_closed";
    run(test, || {
        let behind = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = behind.local_addr().unwrap().port().to_string();
        let mut python = Command::new(program("python3", "python3")?);
        // Two that are idle, one with a request in flight, an excluded one, and one that does not read.
        let hosts = ["127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.1"];
        python.args(["-c", ASKING, &port]).args(hosts).stdout(Stdio::piped());
        let mut asking = Running(python.spawn().unwrap());
        let mut served: Vec<_> = hosts.map(|_| behind.accept().unwrap().0).into();
        let mut output = BufReader::new(asking.0.stdout.take().unwrap()).lines();
        assert_eq!(output.next().unwrap().unwrap(), "ready");
        for (number, connection) in served.iter_mut().enumerate() {
            connection.set_read_timeout(Some(LIMIT)).unwrap();
            connection.read_exact(&mut [0; 7]).unwrap();
            // Several ticks later, so that the order is known.
            thread::sleep(Duration::from_millis(20));
            if number != 2 {
                connection.write_all(b"response").unwrap();
            }
        }
        let process = asking.0.id().to_string();
        // Half of the descriptors are to be free, so that four have to go.
        let rule = ["--keep-free", "10", "--idle-at-least", "500ms", "--exclude", "127.0.0.2"];
        let dry = ackwise(&[&["--of", &process, "--watch", "700ms"], &rule[..]].concat());
        let dry = String::from_utf8(dry.stdout).unwrap();
        let to = format!("5 connections upward: 4 to 127.0.0.1:{port}, 1 to 127.0.0.2:{port}");
        assert!(dry.contains(&to) && dry.contains("2 would be closed"), "{dry}");

        let mut tuning = Tuning::start(&[&["--of", &process], &rule[..]].concat());
        for connection in &mut served[..2] {
            assert_eq!(connection.read(&mut [0]).unwrap(), 0, "a FIN");
        }
        let mut ended: Vec<_> = output.by_ref().take(2).map(|line| line.unwrap()).collect();
        ended.sort();
        assert_eq!(ended, ["end 0", "end 1"]);
        // Longer than any patience.
        thread::sleep(Duration::from_millis(1_500));
        served[2].write_all(b"response").unwrap();
        for connection in &mut served[2..] {
            connection.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            let open = connection.read(&mut [0]).unwrap_err();
            assert_eq!(open.kind(), std::io::ErrorKind::WouldBlock);
        }
        asking.0.kill().unwrap();
        asking.0.wait().unwrap();
        let text = tuning.rest();
        assert!(text.contains(&format!("process {process} has ended")), "{text}");
        assert!(text.contains("2 idle connections closed (2 of them upward, 0"), "{text}");
        assert!(text.contains(&format!(" -> 127.0.0.1:{port}: idle for ")), "{text}");
        Ok(())
    });
}

/// nginx keeps connections to the server behind it, and gives them up for clients when its descriptors run short.
#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn upward_nginx_gives_up_its_pool_for_clients() {
    let test = "upward_nginx_gives_up_its_pool_for_clients";
    run(test, || {
        let (directory, port, behind) = (Directory::new(test), free_port(), free_port());
        let nginx = program("nginx", "nginx")?;
        let (path, config) = (directory.0.display(), directory.0.join("nginx.conf"));
        let text = format!(
            "daemon off; pid {path}/pid; error_log {path}/errors; worker_processes 1; user root;
            worker_rlimit_nofile 60;
            events {{ worker_connections 500; }}
            http {{
                client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
                fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;
                scgi_temp_path {path}/scgi; access_log off; keepalive_timeout 300s;
                upstream page {{ server 127.0.0.1:{behind}; keepalive 40; }}
                server {{
                    listen 127.0.0.1:{port};
                    location / {{
                        proxy_pass http://page; proxy_http_version 1.1;
                        proxy_set_header Connection \"\";
                    }}
                }}
            }}"
        );
        fs::write(&config, text).unwrap();
        let mut python = Command::new(program("python3", "python3")?);
        python.args(["-c", SLOW, &behind.to_string()]);
        let _behind = Running::start(python, behind);
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(&directory.0);
        let nginx = Running::start(command, port);
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let ask = |clients: &[TcpStream]| {
            for (number, mut client) in clients.iter().enumerate() {
                let method = ["GET", "POST"][number % 2];
                let head = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
                client.write_all(head.as_bytes()).unwrap();
            }
            for client in clients {
                client.set_read_timeout(Some(LIMIT)).unwrap();
                let mut line = String::new();
                BufReader::new(client).read_line(&mut line).expect("it is served");
                assert!(line.starts_with("HTTP/1.1 200"), "{line}");
            }
        };
        // All at once: each needs a connection of its own to the slow server.
        ask(&(0..20).map(|_| connect()).collect::<Vec<_>>());
        let upward = || {
            let mut count = 0;
            let query = Query::remote_port(behind).in_states(&[ackwise_tcp::State::Established]);
            SocketTable::here().unwrap().each(query, |_| count += 1).unwrap();
            count
        };
        let pool = upward();
        assert!(pool >= 15, "{pool}");
        thread::sleep(Duration::from_millis(1_200));
        let mut tuning = Tuning::start(&["--of", &nginx.0.id().to_string(), "--json"]);
        let clients: Vec<_> = (0..36).map(|_| connect()).collect();
        // Of 60 descriptors, 6 are kept free, and nginx itself has 8 or more, by what it inherits.
        wait_until("places for clients", || upward() <= 60 - 6 - 8 - clients.len());
        // One at a time, they share the connections that are left.
        clients.iter().for_each(|client| ask(std::slice::from_ref(client)));
        let text = tuning.end();
        let lines: Vec<_> = text.lines().map(|line| schema::keeping_to("tune", line)).collect();
        let closed: Vec<_> = lines.iter().filter(|line| line["act"] == "closed").collect();
        assert!(closed.len() >= pool - 10, "{text}");
        assert!(closed.iter().all(|line| line["socket"]["upward"] == true), "{text}");
        Ok(())
    });
}

/// Answers each request after a fifth of a second, and keeps connections open.
const SLOW: &str = r#"
import http.server, sys, time
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.2)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_POST = do_GET
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer.request_queue_size = 100
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"#;

/// What nginx does not pass on to slow clients stays in the receive buffers of its connections upward.
#[test]
fn upward_receive_buffers_shrink_to_what_slow_clients_take() {
    let test = "upward_receive_buffers_shrink_to_what_slow_clients_take";
    run(test, || {
        let (directory, port) = (Directory::new(test), free_port());
        let nginx = program("nginx", "nginx")?;
        let behind = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = behind.local_addr().unwrap().port();
        thread::spawn(move || behind.incoming().for_each(|it| _ = thread::spawn(|| pours(it))));
        let (path, config) = (directory.0.display(), directory.0.join("nginx.conf"));
        let text = format!(
            "daemon off; master_process off; pid {path}/pid; error_log stderr; user root;
            events {{}}
            http {{
                client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
                fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;
                scgi_temp_path {path}/scgi; access_log off; proxy_buffering off;
                server {{ listen 127.0.0.1:{port}; location / {{
                    proxy_pass http://127.0.0.1:{server}; proxy_http_version 1.1; }} }}
            }}"
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(&directory.0);
        let nginx = Running::start(command, port);
        for _ in 0..4 {
            let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            thread::spawn(move || reads_fast_then_slowly(client));
        }
        let unread = || {
            let mut each = Vec::new();
            let query = Query::remote_port(server).in_states(&[ackwise_tcp::State::Established]);
            SocketTable::here().unwrap().each(query, |it| each.push(it.receive_queue)).unwrap();
            each.sort_unstable();
            each
        };
        // nginx waits for its clients, so what has come since stays.
        let few = 128 * 1_024;
        let deadline = Instant::now() + Duration::from_secs(10);
        while unread().last().is_none_or(|most| *most < 2 * few) {
            if Instant::now() > deadline {
                inconclusive(test, format!("buffers did not fill: {:?}", unread()));
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        let process = nginx.0.id().to_string();
        let mut tuning = Tuning::start(&["--of", &process, "--buffer-memory", "64MiB", "--json"]);
        wait_until("little is unread", || unread().last().is_some_and(|most| *most < few));
        let text = tuning.end();
        let lines: Vec<_> = text.lines().map(|line| schema::keeping_to("tune", line)).collect();
        let is_upward = |line: &&Value| {
            line["option"] == "SO_RCVBUF"
                && line["socket"]["upward"] == true
                && line["act"] == "set"
        };
        assert!(lines.iter().any(|line| is_upward(&line)), "{text}");
        Ok(())
    });
}

/// Answers a request with bytes without end.
fn pours(stream: std::io::Result<TcpStream>) {
    let Ok(mut stream) = stream else { return };
    let block = vec![b'x'; 64 * 1_024];
    let _ = stream.read(&mut [0; 4_096]);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n";
    let mut is_open = stream.write_all(head.as_bytes()).is_ok();
    while is_open {
        is_open = stream.write_all(&block).is_ok();
    }
}

/// As fast as it can, so that buffers grow, then 1 MB/s.
fn reads_fast_then_slowly(mut stream: TcpStream) {
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let (mut block, mut taken) = (vec![0; 64 * 1_024], 0);
    while let Ok(size @ 1..) = stream.read(&mut block) {
        taken += size;
        if taken > 50_000_000 {
            block.truncate(10_000);
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reads fast until buffers have grown, then slowly, from the server behind it, and switches TCP_NODELAY off on what it
/// accepts.
const SLOW_READER: &str = r#"
import socket, sys, threading, time
def read(stream):
    taken = 0
    while block := stream.recv(65536 if taken < 20_000_000 else 10_000):
        taken += len(block)
        if taken >= 20_000_000:
            time.sleep(0.01)
upward = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
upward.sendall(b"request")
threading.Thread(target=read, args=[upward], daemon=True).start()
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
accepted = []
while True:
    accepted.append(listener.accept()[0])
    time.sleep(0.1)
    accepted[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
"#;

/// What was set upward is given back, whatever is set on clients' connections since.
#[test]
fn upward_a_receive_buffer_is_given_back_after_clients_were_tuned() {
    let test = "upward_a_receive_buffer_is_given_back_after_clients_were_tuned";
    run(test, || {
        let port = free_port();
        let behind = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = behind.local_addr().unwrap().port();
        thread::spawn(move || behind.incoming().for_each(|it| _ = thread::spawn(|| pours(it))));
        let mut python = Command::new(program("python3", "python3")?);
        python.args(["-c", SLOW_READER, &port.to_string(), &server.to_string()]);
        let python = Running::start(python, port);
        let buffer = || {
            let mut size = 0;
            let query = Query::remote_port(server).in_states(&[ackwise_tcp::State::Established]);
            let visit = |it: &TcpSocket| size = it.memory.map_or(0, |it| it.receive_buffer);
            SocketTable::here().unwrap().each(query.with_memory(), visit).unwrap();
            size
        };
        let large = 500_000;
        wait_until("the buffer has grown", || buffer() > large);
        let process = python.0.id().to_string();
        let options = ["--of", &process, "--nodelay", "--buffer-memory", "64MiB", "--json"];
        let mut tuning = Tuning::start(&options);
        wait_until("the buffer is set", || buffer() < large);
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let address = client.local_addr().unwrap().to_string();
        let is_set_again = |line: &str| {
            let line = schema::keeping_to("tune", line);
            line["option"] == "TCP_NODELAY"
                && line["act"] == "set"
                && line["socket"]["remote"] == address
        };
        tuning.read_until(is_set_again);
        tuning.end();
        assert!(buffer() > large, "{}", buffer());
        Ok(())
    });
}
