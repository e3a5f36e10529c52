//! Several users on one port, each test in a network namespace of its own: what another user does there decides nothing
//! about the server's connections.

use ackwise_testing::in_namespace;

use super::*;

/// Listens at an address, and connects to it so many times. These connections are never idle: nothing is sent.
const CROWD: &str = r#"
import socket, sys, time
address, port, crowd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if family == socket.AF_INET6:
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
listener.bind((address, port))
listener.listen(512)
pairs = [(socket.create_connection((address, port)), listener.accept()) for _ in range(crowd)]
if sys.argv[4:]:
    listener.close()
print("ready", flush=True)
time.sleep(120)
"#;

/// Runs a test as root in a namespace, with Python.
fn apart(test: &str, body: impl FnOnce(PathBuf) + Send) {
    run(test, || {
        let python = program("python3", "python3")?;
        in_namespace(test, || body(python));
        Ok(())
    });
}

/// Another user's listening socket, with connections to itself.
fn crowd(python: &Path, user: u32, arguments: &[&str]) -> Running {
    let mut command = Command::new(python);
    command.args(["-c", CROWD]).args(arguments).uid(user).gid(user).current_dir("/");
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    Running(child)
}

/// Five connections of the server that count as idle.
fn idle(own: &Own) -> Vec<(TcpStream, TcpStream)> {
    let pairs: Vec<_> = (0..5).map(|_| own.pair(1)).collect();
    pairs.iter().for_each(|(client, server)| exchange(client, server));
    thread::sleep(Duration::from_millis(30));
    pairs
}

/// How many of these clients see the end of the stream.
fn closed(pairs: &[(TcpStream, TcpStream)]) -> usize {
    let is_closed = |(client, _): &&(TcpStream, TcpStream)| {
        client.set_nonblocking(true).unwrap();
        let size = (&mut &*client).read(&mut [0]);
        client.set_nonblocking(false).unwrap();
        size.is_ok_and(|size| size == 0)
    };
    pairs.iter().filter(is_closed).count()
}

/// Room for twenty connections: the server has six, another user sixty.
fn closing(port: &str) -> [&str; 10] {
    let patience = ["--idle-at-least", "1s", "--unsure-after", "1s"];
    let [a, b, c, d] = patience;
    ["--port", port, "--max-connections", "20", "--keep-free", "0", a, b, c, d]
}

const LONG_ENOUGH: Duration = Duration::from_millis(3_500);

#[test]
fn listening_sockets_of_several_users_are_refused_and_named() {
    apart("listening_sockets_of_several_users_are_refused_and_named", |python| {
        let own = Own::new();
        let (pairs, port) = (idle(&own), own.port.to_string());
        for (user, address) in [(NOBODY, "127.0.0.9"), (NOBODY - 1, "::1")] {
            let other = crowd(&python, user, &[address, &port, "60"]);
            for apply in [&["--apply"][..], &[]] {
                let refused = ackwise(&[&closing(&port)[..], apply].concat());
                let text = String::from_utf8(refused.stderr).unwrap();
                assert_eq!((refused.status.code(), text.lines().count()), (Some(2), 1), "{text}");
                for part in [
                    &format!("several users listen on port {port}: user 0 on 127.0.0.1:{port}"),
                    &format!("user {user} on "),
                    &format!("(process {})", other.0.id()),
                    "--user",
                ] {
                    assert!(text.contains(part), "{part:?} is not in {text}");
                }
            }
            // With a user named, only that one's connections are counted.
            let mut tuning = Tuning::start(&[&closing(&port)[..], &["--user", "root"]].concat());
            thread::sleep(LONG_ENOUGH);
            let text = tuning.end();
            assert_eq!(closed(&pairs), 0, "{text}");
            assert!(text.contains("0 idle connections closed"), "{text}");
        }
        let none = ackwise(&["--port", &port, "--nodelay", "--user", "12345"]);
        let text = String::from_utf8(none.stderr).unwrap();
        assert!(text.contains("no socket of user 12345 listens"), "{text}");
    });
}

#[test]
fn a_listening_socket_that_another_user_opens_during_the_run_is_not_counted() {
    let test = "a_listening_socket_that_another_user_opens_during_the_run_is_not_counted";
    apart(test, |python| {
        let own = Own::new();
        let (pairs, port) = (idle(&own), own.port.to_string());
        let arguments = [&closing(&port)[..], &["--nodelay"]].concat();
        let mut tuning = Tuning::start(&arguments);
        own.wait_for((true, 0));
        let _others =
            ["127.0.0.9", "::1"].map(|address| crowd(&python, NOBODY, &[address, &port, "60"]));
        // While clients wait for the server, too: handshakes elsewhere are not its connections.
        let waiting: Vec<_> = (0..3).map(|_| TcpStream::connect(own.address()).unwrap()).collect();
        thread::sleep(LONG_ENOUGH);
        let text = tuning.end();
        assert_eq!(closed(&pairs), 0, "{text}");
        assert_eq!(
            text.matches("of user 65534 listens there: it is not tuned").count(),
            1,
            "{text}"
        );
        let sets = text.lines().filter(|line| line.contains("  set  "));
        assert!(sets.clone().all(|line| line.contains("127.0.0.1:")), "{text}");
        drop(waiting);
    });
}

/// Connections of before the server, which have its port and an address that it listens on now.
#[test]
fn connections_that_another_user_left_on_the_port_are_not_counted() {
    let test = "connections_that_another_user_left_on_the_port_are_not_counted";
    apart(test, |python| {
        let port = 8_080;
        let number = port.to_string();
        let _left = crowd(&python, NOBODY, &["127.0.0.9", &number, "60", "and leave"]);
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.set_reuse_address(true).unwrap();
        listener.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into()).unwrap();
        listener.listen(100).unwrap();
        let own = Own::of(listener.into());
        let pairs = idle(&own);
        let mut tuning = Tuning::start(&closing(&number));
        thread::sleep(LONG_ENOUGH);
        let text = tuning.end();
        assert_eq!(closed(&pairs), 0, "{text}");
    });
}

/// One program's listening sockets share its places, whatever their addresses; another one has its own.
#[test]
fn each_server_of_one_user_has_its_places() {
    let test = "each_server_of_one_user_has_its_places";
    apart(test, |python| {
        let own = Own::new();
        let (pairs, port) = (idle(&own), own.port.to_string());
        let _other = crowd(&python, 0, &["127.0.0.9", &port, "60"]);
        let mut tuning = Tuning::start(&closing(&port));
        thread::sleep(LONG_ENOUGH);
        let text = tuning.end();
        assert_eq!(closed(&pairs), 0, "{text}");
        drop(pairs);

        // A second address, and a second socket at that address, of this program.
        let second = |address: &str| {
            let socket = Socket::new(Domain::IPV6, Type::STREAM, None).unwrap();
            socket.set_reuse_port(true).unwrap();
            socket.set_only_v6(true).unwrap();
            let address = SocketAddr::new(address.parse().unwrap(), own.port);
            socket.bind(&address.into()).unwrap();
            socket.listen(100).unwrap();
            TcpListener::from(socket)
        };
        let more = ["::", "::"].map(second);
        let mut pairs = idle(&own);
        // The kernel chooses one of the two.
        let clients: Vec<_> =
            (0..15).map(|_| TcpStream::connect(("::1", own.port)).unwrap()).collect();
        for listener in &more {
            listener.set_nonblocking(true).unwrap();
            pairs.extend(clients.iter().filter_map(|_| listener.accept().ok()).map(
                |(server, _)| {
                    server.set_nonblocking(false).unwrap();
                    (server.try_clone().unwrap(), server)
                },
            ));
        }
        assert_eq!(pairs.len(), 20, "all were accepted");
        // Six, and fifteen: one more than twenty.
        let mut tuning = Tuning::start(&closing(&port));
        let is_closed = || pairs[..5].iter().any(|it| closed(std::slice::from_ref(it)) == 1);
        wait_until("an idle connection makes room", is_closed);
        let text = tuning.end();
        assert_eq!(closed(&pairs[..5]), 1, "{text}");
        assert!(text.contains("21 open and 0 waiting for 20 places"), "{text}");
    });
}
