//! A real proxy between a stranger who says CLIENT_CLOSE and the server that knows it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_http::{Method, ResponseEvent, ResponseParser, client_close};
use ackwise_testing::debian;

use crate::{
    missing::Missing,
    network::{Network, PORT},
    own_server::start,
    site::Site,
    with_network,
};

/// nginx in front of our server, with connections to it that are kept.
struct Proxy {
    process: Child,
    _site: Site,
}

const PROXY_PORT: u16 = 8081;
const PATIENCE: Duration = Duration::from_secs(20);

impl Proxy {
    fn start(network: &Network, test: &str) -> Result<Self, Missing> {
        let site = Site::new(test);
        let pid = site.path("pid");
        let config = site.write(
            "nginx.conf",
            &format!(
                "daemon off; master_process off; pid {}; error_log /dev/null; events {{}}
                http {{
                    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                    uwsgi_temp_path uwsgi; scgi_temp_path scgi; access_log off;
                    upstream ours {{ server 127.0.0.1:{PORT}; keepalive 1; }}
                    server {{
                        listen {PROXY_PORT};
                        location / {{
                            proxy_pass http://ours;
                            proxy_http_version 1.1;
                            proxy_set_header Connection \"\";
                        }}
                    }}
                }}",
                pid.display()
            ),
        );
        let mut command = Command::new(debian::find("nginx", "nginx")?);
        command.args(["-e", "/dev/null", "-c"]).arg(config).arg("-p").arg(site.path("."));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = network.server.run(|| command.spawn())?;
        let process = process.map_err(|error| Missing::setup("nginx", error))?;
        Ok(Self { process, _site: site })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client of the proxy that keeps its connection.
struct Client {
    stream: TcpStream,
    parser: ResponseParser,
}

impl Client {
    /// Waits until the proxy listens.
    fn connect(network: &Network) -> Self {
        let proxy = SocketAddr::from(([127, 0, 0, 1], PROXY_PORT));
        let deadline = Instant::now() + PATIENCE;
        let stream = network.server.run(|| {
            loop {
                match TcpStream::connect(proxy) {
                    Ok(stream) => return stream,
                    Err(error) => assert!(Instant::now() < deadline, "{error}"),
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        let stream = stream.unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, parser: ResponseParser::new() }
    }

    /// The status of the answer to these bytes.
    fn asks(&mut self, bytes: &[u8]) -> u16 {
        self.parser.expect(Method::Get);
        self.stream.write_all(bytes).unwrap();
        let mut buffer = [0; 4096];
        loop {
            let count = self.stream.read(&mut buffer).unwrap();
            assert!(count > 0, "closed without an answer");
            let mut read = &buffer[..count];
            while let Some(event) = self.parser.advance(&mut read).unwrap() {
                if let ResponseEvent::End(response) = event {
                    return response.head.status;
                }
            }
        }
    }

    fn gets(&mut self) -> u16 {
        self.asks(b"GET /300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }
}

/// nginx refuses it: `*` is no target that it passes on.
#[test]
fn a_stranger_s_client_close_closes_nobody_else_s_connection() {
    let name = "a_stranger_s_client_close_closes_nobody_else_s_connection";
    with_network(name, |network| {
        let server = start(network);
        let _proxy = Proxy::start(network, name)?;
        let mut somebody = Client::connect(network);
        assert_eq!([somebody.gets(), somebody.gets()], [200, 200]);
        assert_eq!(server.stats().accepted, 1, "the proxy keeps its connection");

        let mut stranger = Client::connect(network);
        assert_eq!(stranger.gets(), 200);
        assert_eq!(stranger.asks(&client_close::encode("localhost").unwrap()), 400);

        assert_eq!([somebody.gets(), somebody.gets()], [200, 200]);
        let stats = server.stats();
        assert_eq!((stats.accepted, stats.client_closed), (1, 0), "{stats:?}");
        Ok(())
    });
}

/// A method that nginx does not know, with a target that it does, it passes on, and without the `Via` that
/// RFC 9110 demands. To our server it is a CLIENT_CLOSE of another form than ours: a bad request.
#[test]
fn what_a_proxy_passes_on_costs_only_the_one_who_said_it() {
    let name = "what_a_proxy_passes_on_costs_only_the_one_who_said_it";
    with_network(name, |network| {
        let server = start(network);
        let _proxy = Proxy::start(network, name)?;
        let mut somebody = Client::connect(network);
        assert_eq!(somebody.gets(), 200);

        let mut stranger = Client::connect(network);
        assert_eq!(stranger.asks(b"CLIENT_CLOSE / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);

        assert_eq!([somebody.gets(), somebody.gets()], [200, 200]);
        assert_eq!(server.stats().client_closed, 0);
        Ok(())
    });
}
