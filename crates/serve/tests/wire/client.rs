//! A plain client on a kernel socket: Nagle on, no quick ACK, as in a naive program.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use ackwise_http::{Method, RequestBuilder, Response, ResponseEvent, ResponseParser};
use ackwise_serve::{Document, Server};

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    parser: ResponseParser,
    leftover: Vec<u8>,
}

/// A response with its content.
pub(crate) struct Fetched {
    pub(crate) response: Response,
    pub(crate) content: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, parser: ResponseParser::new(), leftover: Vec::new() }
    }

    pub(crate) fn send(&mut self, requests: &[RequestBuilder]) {
        let bytes: Vec<u8> = requests.iter().flat_map(|r| r.encode().unwrap()).collect();
        self.stream.write_all(&bytes).unwrap();
    }

    pub(crate) fn expect(&mut self, method: Method) {
        self.parser.expect(method);
    }

    /// Receives the next whole response.
    pub(crate) fn receive(&mut self) -> Fetched {
        let mut content = Vec::new();
        loop {
            let mut input = &self.leftover[..];
            while let Some(event) = self.parser.advance(&mut input).unwrap() {
                match event {
                    ResponseEvent::Content(bytes) => content.extend_from_slice(bytes),
                    ResponseEvent::End(response) => {
                        self.leftover = input.to_vec();
                        return Fetched { response, content };
                    }
                    _ => {}
                }
            }
            self.leftover.clear();
            let mut buffer = [0; 4096];
            let bytes = self.stream.read(&mut buffer).expect("the server answers in time");
            if bytes == 0 {
                let response = self.parser.handle_close().unwrap().expect("a response");
                return Fetched { response, content };
            }
            self.leftover.extend_from_slice(&buffer[..bytes]);
        }
    }

    pub(crate) fn fetch(&mut self, request: RequestBuilder) -> Fetched {
        self.send(&[request]);
        self.receive()
    }

    /// Fetches and checks a document. Returns the time taken.
    pub(crate) fn time(&mut self, path: &str) -> Duration {
        let start = Instant::now();
        let Fetched { response, content } = self.fetch(RequestBuilder::get("localhost", path));
        let time = start.elapsed();
        assert_eq!(response.head.status, 200);
        let document = Document::at_path(path).unwrap();
        assert_eq!(content.len() as u64, document.length());
        assert!(document.has(0, &content));
        time
    }

    /// Sends requests together. Returns the time until the last response.
    pub(crate) fn time_together(&mut self, requests: &[RequestBuilder]) -> Duration {
        let start = Instant::now();
        self.send(requests);
        for _ in requests {
            self.receive();
        }
        start.elapsed()
    }

    /// All data until the server closes; panics if the server resets or does not close.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.leftover);
        self.stream.read_to_end(&mut rest).expect("the server closes in order and in time");
        rest
    }
}

/// Maximum wait of a test for an expected event (our choice).
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until `holds`; the server's threads may still run after a client has its response.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never true: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
