//! Whole pages by every plan, from the built-in server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    num::{NonZeroU16, NonZeroU32},
    ops::ControlFlow,
    sync::Arc,
    thread,
    time::Duration,
};

use ackwise_http::{Behaviour, behaviour::Gather, page::Transfer};
use ackwise_load::{
    generator::Failure,
    pages::{
        Cache, KeptConnections, LoadedPage, LoadedPages, PageClose, PageFile, PageLoad, WebPage,
        load_pages,
    },
};
use ackwise_net::{KernelTransport, Sources};
use ackwise_serve::{Config, Documents, Server, Site};

fn loaded(server: SocketAddr, load: &PageLoad) -> LoadedPages {
    let mut transport = KernelTransport::new(server, Sources::Any, load.slots()).unwrap();
    load_pages(&mut transport, load, |_| ControlFlow::Continue(())).unwrap()
}

fn page(files: impl IntoIterator<Item = PageFile>) -> WebPage {
    let (host, fields) = ("localhost".to_owned(), Vec::new());
    WebPage { host, fields, files: files.into_iter().collect() }
}

fn sized() -> WebPage {
    page([15_000, 3883, 1866, 40, 9000].map(|size| PageFile::sized("/{bytes}", size)))
}

fn parallel(connections: u16) -> Transfer {
    Transfer::Parallel { connections: NonZeroU16::new(connections).unwrap() }
}

const SEGMENT: NonZeroU32 = NonZeroU32::new(1460).unwrap();
const FILLED: Transfer = Transfer::SegmentFilled { segment: SEGMENT };

fn counts(page: &LoadedPage) -> (u32, u32, u32, u64) {
    (page.connections, page.requests, page.files, page.content)
}

#[test]
fn every_plan_loads_the_whole_page_on_its_connections() {
    let server = Server::start(Config {
        behaviour: Behaviour { gather: Gather::Pending, ..Behaviour::FIXED },
        ..Config::loopback(Behaviour::FIXED)
    });
    let server = server.unwrap();
    let rest = 3883 + 1866 + 40 + 9000;
    let whole = 15_000 + rest;
    for (transfer, expected) in [
        (Transfer::Serial, (5, 5, 5, whole)),
        (parallel(2), (5, 5, 5, whole)),
        (Transfer::Persistent, (1, 5, 5, whole)),
        (Transfer::Pipelined, (1, 5, 5, whole)),
        (FILLED, (1, 5, 5, 14_600 + rest)),
    ] {
        for users in [1, 3] {
            let load = PageLoad { pages: Some(6), users, ..PageLoad::new(vec![sized()], transfer) };
            let LoadedPages { pages, not_closed, .. } = loaded(server.local_addr(), &load);
            assert_eq!((pages.len(), not_closed), (6, 0), "{transfer:?}");
            for page in pages {
                assert_eq!((counts(&page), page.failure), (expected, None), "{transfer:?}");
            }
        }
    }
    server.stop();
}

#[test]
fn kept_connections_serve_the_next_page_too() {
    let server = Server::start(Config { client_close: true, ..Config::loopback(Behaviour::FIXED) });
    let server = server.unwrap();
    for (transfer, first) in [(Transfer::Serial, 1), (Transfer::Pipelined, 1), (parallel(2), 2)] {
        let load = PageLoad {
            pages: Some(4),
            connections: KeptConnections::Kept,
            close: PageClose::ClientClose,
            ..PageLoad::new(vec![sized()], transfer)
        };
        let pages = loaded(server.local_addr(), &load).pages;
        let opened: Vec<_> = pages.iter().map(|page| page.connections).collect();
        assert_eq!(opened, [first, 0, 0, 0], "{transfer:?}");
        assert!(pages.iter().all(|page| page.failure.is_none() && page.files == 5));
    }
    assert_eq!(server.stats().client_closed, 4);
    server.stop();
}

/// A page of ten files on disk.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn stored(getweb: bool) -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let html: String = (0..9).map(|file| format!("<img src={file}.gif>")).collect();
    fs::write(directory.path().join("index.html"), html).unwrap();
    for file in 0..9 {
        fs::write(directory.path().join(format!("{file}.gif")), [b'x'; 1000]).unwrap();
    }
    let documents = Documents::Stored(Arc::new(Site::open(directory.path()).unwrap()));
    let config = Config { documents, getweb, ..Config::loopback(Behaviour::FIXED) };
    (directory, Server::start(config).unwrap())
}

fn ten_files() -> WebPage {
    let inlines = (0..9).map(|file| PageFile::whole(format!("/{file}.gif")));
    page([PageFile::whole("/")].into_iter().chain(inlines))
}

#[test]
fn getweb_has_in_one_response_what_the_client_does_not_have() {
    let (_directory, server) = stored(true);
    for (per_million, files) in [(0, 10..11), (500_000, 2..10), (1_000_000, 1..2)] {
        let cache = Cache { per_million, ..Cache::default() };
        let load = |transfer| PageLoad { cache, ..PageLoad::new(vec![ten_files()], transfer) };
        let together = loaded(server.local_addr(), &load(Transfer::GetWeb)).pages[0];
        let one_by_one = loaded(server.local_addr(), &load(Transfer::Pipelined)).pages[0];
        assert_eq!((together.failure, one_by_one.failure), (None, None));
        assert_eq!((together.connections, together.requests), (1, 1));
        assert!(files.contains(&together.files), "{together:?}");
        assert_eq!(together.files, one_by_one.files, "the same seed, the same files");
    }
    server.stop();
}

#[test]
fn a_server_without_getweb_fails_each_page_with_its_status() {
    let (_directory, server) = stored(false);
    let load = PageLoad::new(vec![ten_files()], Transfer::GetWeb);
    let page = loaded(server.local_addr(), &load).pages[0];
    assert_eq!((page.failure, page.files), (Some(Failure::Status(501)), 0));
    server.stop();
}

/// Answers each connection with `answer`, again and again if it is `endless`, without reading what is asked.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn hostile(answer: &'static str, endless: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            while stream.write_all(answer.as_bytes()).is_ok() && endless {}
        }
    });
    address
}

#[test]
fn hostile_servers_cost_a_page_and_no_more_than_its_timeout() {
    const LINKS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n\
                         1 /a image/gif\r\n1 /b image/gif\r\n";
    const ELSEWHERE: &str = "HTTP/1.1 200 OK\r\n\r\n1 http://elsewhere/a image/gif\r\n\r\na";
    const ENDLESS: &str = "HTTP/1.1 200 OK\r\n\r\n1 /p text/html\r\n\r\naaaaaaaa";
    for (answer, endless, failure, transfer) in [
        (LINKS, true, "wrong-index", Transfer::GetWeb),
        (ELSEWHERE, false, "wrong-index", Transfer::GetWeb),
        (ENDLESS, true, "wrong-index", Transfer::GetWeb),
        (ENDLESS, true, "abandoned", Transfer::Persistent),
        ("", false, "closed-unanswered", Transfer::GetWeb),
        ("", false, "closed-unanswered", Transfer::Serial),
        ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\nx", false, "malformed", FILLED),
        ("SSH-2.0-OpenSSH\r\n", false, "malformed", Transfer::Pipelined),
    ] {
        let load = PageLoad {
            pages: Some(2),
            timeout: Duration::from_millis(500),
            ..PageLoad::new(vec![ten_files()], transfer)
        };
        let pages = loaded(hostile(answer, endless), &load).pages;
        let failures: Vec<_> =
            pages.iter().filter_map(|page| Some(page.failure?.as_str())).collect();
        assert_eq!(failures, [failure; 2], "{answer} {transfer:?}");
        assert!(pages.iter().all(|page| page.took < Duration::from_secs(2)), "{pages:?}");
    }
}

#[test]
fn nobody_listening_is_a_failure_of_each_page() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for transfer in [Transfer::Serial, Transfer::Pipelined] {
        let load = PageLoad { pages: Some(3), ..PageLoad::new(vec![ten_files()], transfer) };
        let pages = loaded(closed, &load).pages;
        assert_eq!(pages.len(), 3);
        assert!(
            pages
                .iter()
                .all(|page| page.failure.is_some_and(|it| it.as_str() == "connect-refused"))
        );
    }
}
