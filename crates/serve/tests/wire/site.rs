//! Files of a directory: one by one, and a page with all its files in one response.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::FileExt,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour, RequestBuilder,
    getweb::{self, Entry, FILES_LIMIT, IndexParser},
};
use ackwise_serve::{Config, Copies, Documents, Remedy, RemedyBy, SendBuffers, Server, Site};

use crate::client::Client;

struct Served {
    directory: tempfile::TempDir,
    server: Server,
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn serve(files: &[(&str, Vec<u8>)], behaviour: Behaviour, getweb: bool) -> Served {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(directory.path().join(name), content).unwrap();
    }
    let site = Site::open(directory.path()).unwrap();
    let documents = Documents::Stored(Arc::new(site));
    let config = Config { documents, getweb, ..Config::loopback(behaviour) };
    Served { directory, server: Server::start(config).unwrap() }
}

/// `length` bytes, none like its neighbours.
fn content(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at * 7 + seed) % 251).unwrap()).collect()
}

fn get(path: &str) -> RequestBuilder {
    RequestBuilder::get("localhost", path)
}

/// Asks for `page` with all its files; returns the index, and the files that were sent, by path.
fn get_web(
    client: &mut Client,
    page: &str,
    held: &[&str],
) -> (Vec<Entry>, BTreeMap<String, Vec<u8>>) {
    use std::io::Write;
    let request = getweb::encode("localhost", page, held.iter().copied()).unwrap();
    client.stream.write_all(&request).unwrap();
    let fetched = client.receive();
    assert_eq!(fetched.response.head.status, 200);
    assert_eq!(fetched.response.head.fields.text("Content-Type"), Some(getweb::MEDIA_TYPE));
    let mut rest = &fetched.content[..];
    let entries = IndexParser::new().advance(&mut rest).unwrap().expect("the index ends");
    let mut files = BTreeMap::new();
    for entry in &entries {
        let Some(length) = entry.length else { continue };
        let (file, after) = rest.split_at(usize::try_from(length).unwrap());
        files.insert(entry.path.clone(), file.to_vec());
        rest = after;
    }
    assert!(rest.is_empty(), "{} bytes that no entry announced", rest.len());
    (entries, files)
}

/// A page that shows `images` files.
fn page(images: usize) -> Vec<(String, Vec<u8>)> {
    let html: String = (0..images).map(|image| format!("<img src=\"{image}.gif\">")).collect();
    let images =
        (0..images).map(|image| (format!("{image}.gif"), content(500 + 37 * image, image)));
    [("p.html".to_owned(), html.into_bytes())].into_iter().chain(images).collect()
}

fn borrowed(files: &[(String, Vec<u8>)]) -> Vec<(&str, Vec<u8>)> {
    files.iter().map(|(name, content)| (name.as_str(), content.clone())).collect()
}

#[test]
fn files_arrive_as_they_are_under_every_plan_of_writes() {
    let files =
        [("large.bin", content(3_000_000, 1)), ("small.txt", content(300, 2)), ("empty", vec![])];
    let gathered =
        Behaviour { gather: ackwise_http::behaviour::Gather::Pending, ..Behaviour::FIXED };
    for behaviour in [Behaviour::FIXED, Behaviour::PAPER_1996, gathered] {
        let Served { server, directory: _kept } = serve(&files, behaviour, false);
        let mut client = Client::connect(&server);
        client.send(&files.each_ref().map(|(name, _)| get(&format!("/{name}"))));
        for (name, content) in &files {
            let fetched = client.receive();
            assert_eq!(fetched.response.head.status, 200, "{name}");
            assert!(fetched.content == *content, "{name} differs");
        }
        let part = client.fetch(get("/large.bin").field("Range", "bytes=1000000-1000009"));
        assert_eq!(part.response.head.status, 206);
        assert_eq!(part.content, files[0].1[1_000_000..1_000_010]);
        assert_eq!(client.fetch(get("/none")).response.head.status, 404);
    }
}

#[test]
fn a_copy_that_is_current_is_not_sent_again() {
    let Served { server, directory: _kept } =
        serve(&[("a", content(300, 1))], Behaviour::FIXED, false);
    let mut client = Client::connect(&server);
    let head = client.fetch(get("/a")).response.head;
    let modified = head.fields.text("Last-Modified").unwrap().to_owned();
    let again = client.fetch(get("/a").field("If-Modified-Since", modified));
    assert_eq!((again.response.head.status, again.content.len()), (304, 0));
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"; // RFC 9110, section 5.6.7.
    let older = client.fetch(get("/a").field("If-Modified-Since", date));
    assert_eq!((older.response.head.status, older.content.len()), (200, 300));
}

#[test]
fn a_page_of_a_hundred_files_arrives_as_one_response_without_what_the_client_has() {
    let files = page(100);
    let Served { server, directory: _kept } = serve(&borrowed(&files), Behaviour::FIXED, true);
    let paths: Vec<String> = files.iter().map(|(name, _)| format!("/{name}")).collect();
    for held in [0, 50, 100] {
        let held: Vec<&str> = paths[1..=held].iter().map(String::as_str).collect();
        let mut client = Client::connect(&server);
        let (entries, sent) = get_web(&mut client, "/p.html", &held);
        let order: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(order, paths.iter().map(String::as_str).collect::<Vec<_>>());
        for ((_, content), path) in files.iter().zip(&paths) {
            let expected = (!held.contains(&path.as_str())).then_some(content);
            assert_eq!(sent.get(path), expected, "{path}");
        }
        // The connection persists.
        assert_eq!(client.fetch(get("/0.gif")).content, files[1].1);
    }
    assert_eq!(server.stats().pages, 1, "parsed once, then remembered");
}

#[test]
fn a_hostile_page_costs_no_more_than_a_large_one() {
    let million: String =
        (0..1_000_000).map(|link| format!("<img src=i{}.gif>", link % 2_000)).collect();
    let images: Vec<(String, Vec<u8>)> =
        (0..2_000).map(|image| (format!("i{image}.gif"), content(10, image))).collect();
    let mut files = borrowed(&images);
    let endless = format!("<img src='{}", "x".repeat(5_000_000));
    let foreign =
        "<img src=http://elsewhere/i0.gif><img src=//elsewhere/i0.gif><img src=/../../etc/passwd>";
    files.push(("million.html", million.into_bytes()));
    files.push(("endless.html", endless.into_bytes()));
    files.push(("foreign.html", foreign.as_bytes().to_vec()));
    files.push(("itself.html", b"<img src=itself.html><img src=missing.gif>".to_vec()));
    let Served { server, directory: _kept } = serve(&files, Behaviour::FIXED, true);
    for (path, expected) in [
        ("/million.html", FILES_LIMIT),
        ("/endless.html", 1),
        ("/foreign.html", 1),
        ("/itself.html", 1),
    ] {
        let (entries, _) = get_web(&mut Client::connect(&server), path, &[]);
        assert_eq!(entries.len(), expected, "{path}");
    }
}

/// A page that shows one file of 3 MB two thousand times, by queries, by encodings and by links, brought gigabytes.
#[test]
fn each_file_of_a_page_is_sent_once_and_no_more_than_the_limit() {
    let shown = |of: &dyn Fn(usize) -> String| -> Vec<u8> {
        (0..900).map(|number| format!("<img src='{}'>", of(number))).collect::<String>().into()
    };
    let encoded = |number: usize| {
        let letter = |(at, byte): (usize, u8)| match number >> at & 1 {
            0 => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        };
        b"abcdefghij".iter().copied().enumerate().map(letter).collect()
    };
    let (one, limit) = (3_000_000, usize::try_from(getweb::CONTENT_LIMIT).unwrap());
    let files = [
        ("abcdefghij", content(one, 1)),
        ("query.html", shown(&|number| format!("abcdefghij?{number}"))),
        ("encoded.html", shown(&encoded)),
        ("links.html", shown(&|number| format!("link{number}"))),
        ("many.html", shown(&|number| format!("file{number}"))),
    ];
    let Served { server, directory } = serve(&files, Behaviour::FIXED, true);
    for number in 0..900 {
        let path = |name: &str| directory.path().join(format!("{name}{number}"));
        match number % 2 {
            0 => std::os::unix::fs::symlink("abcdefghij", path("link")).unwrap(),
            _ => fs::hard_link(directory.path().join("abcdefghij"), path("link")).unwrap(),
        }
        if number < 30 {
            fs::write(path("file"), &files[0].1).unwrap();
        }
    }
    let lengths = |page: &str| {
        let (entries, sent) = get_web(&mut Client::connect(&server), page, &[]);
        (entries.len(), sent.values().map(Vec::len).sum::<usize>())
    };
    for page in ["/query.html", "/encoded.html", "/links.html"] {
        assert_eq!(
            lengths(page),
            (2, one + files.iter().find(|it| page[1..] == *it.0).unwrap().1.len()),
            "{page}"
        );
    }
    let (entries, bytes) = lengths("/many.html");
    assert_eq!(entries, 1 + limit / one, "{bytes} bytes");
    assert!((limit - one..=limit).contains(&bytes), "{bytes} bytes");
    // The page is parsed once, by whatever path it is asked for.
    for path in ["/many.html?1", "/%6dany.html", "//many.html"] {
        assert_eq!(lengths(path).0, entries, "{path}");
    }
    assert_eq!(server.stats().pages, 4);
    // The page alone is larger.
    let large = fs::File::create(directory.path().join("large.html")).unwrap();
    large.set_len(getweb::CONTENT_LIMIT + 1).unwrap();
    let mut client = Client::connect(&server);
    std::io::Write::write_all(&mut client.stream, &getweb::encode("h", "/large.html", []).unwrap())
        .unwrap();
    assert_eq!(client.receive().response.head.status, 501);
}

#[test]
fn without_support_the_method_is_refused() {
    use std::io::Write;
    let Served { server, directory: _kept } = serve(&[("p", vec![1])], Behaviour::FIXED, false);
    let mut client = Client::connect(&server);
    client.stream.write_all(&getweb::encode("localhost", "/p", []).unwrap()).unwrap();
    assert_eq!(client.receive().response.head.status, 501);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_ends_the_connection() {
    for copies in EVERY_WAY {
        shrinks(copies);
    }
}

/// With mmap, the bytes that are gone are an error of the call that sends them, and no signal.
fn shrinks(copies: Copies) {
    use std::io::{Read, Write};
    const LENGTH: usize = 40_000_000; // More than two sockets' buffers hold.
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a"), vec![7; LENGTH]).unwrap();
    let documents = Documents::Stored(Arc::new(Site::open(directory.path()).unwrap()));
    let config = Config { documents, copies, ..Config::loopback(Behaviour::FIXED) };
    let server = Server::start(config).unwrap();
    let mut client = Client::connect(&server);
    client.stream.write_all(&get("/a").encode().unwrap()).unwrap();
    let mut received = vec![0; 1000];
    client.stream.read_exact(&mut received).unwrap();
    thread::sleep(Duration::from_millis(50)); // The server's buffer is full, or soon will be.
    let file = fs::OpenOptions::new().write(true).open(directory.path().join("a")).unwrap();
    file.set_len(10).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest); // A FIN or an RST.
    assert!(rest.len() < LENGTH, "{} bytes by {copies:?}", rest.len());
    // sendfile hands pages over that the file still changes while they are on their way.
    if copies == Copies::Sendfile {
        return;
    }
    let head = rest.len() - rest.iter().rev().take_while(|byte| **byte == 7).count();
    assert!(head < 1000, "{copies:?} sent what the file never had");
}

/// Whatever copies them, the bytes and the length of the response are the same, also of a page with all its files.
#[test]
fn files_are_the_same_by_every_way_of_copying() {
    let files = [
        ("small.bin", content(300, 1)),
        ("large.bin", content(3 << 20, 2)),
        ("empty.bin", Vec::new()),
        ("p.html", b"<img src=small.bin><img src=large.bin><img src=empty.bin>".to_vec()),
    ];
    for copies in EVERY_WAY {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in &files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let documents = Documents::Stored(Arc::new(Site::open(directory.path()).unwrap()));
        let config =
            Config { documents, copies, getweb: true, ..Config::loopback(Behaviour::FIXED) };
        let server = Server::start(config).unwrap();
        let mut client = Client::connect(&server);
        for (name, content) in &files {
            let fetched = client.fetch(get(&format!("/{name}")));
            assert_eq!(fetched.content, *content, "{name} by {copies:?}");
        }
        let (_, sent) = get_web(&mut client, "/p.html", &[]);
        assert_eq!(sent["/large.bin"], files[1].1, "{copies:?}");
        server.stop();
    }
}

const EVERY_WAY: [Copies; 5] = [
    Copies::Read,
    Copies::Stdio,
    Copies::Sendfile,
    Copies::Mmap { over: Copies::MMAP_OVER },
    Copies::Mmap { over: 0 },
];

#[test]
fn a_tuned_send_buffer_changes_no_byte() {
    let files = [("small.bin", content(300, 1)), ("large.bin", content(5 << 20, 2))];
    for copies in EVERY_WAY {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in &files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let documents = Documents::Stored(Arc::new(Site::open(directory.path()).unwrap()));
        let send_buffers = SendBuffers::Eatbt;
        let config =
            Config { documents, copies, send_buffers, ..Config::loopback(Behaviour::FIXED) };
        let server = Server::start(config).unwrap();
        let mut client = Client::connect(&server);
        for (name, content) in &files {
            let fetched = client.fetch(get(&format!("/{name}")));
            assert!(fetched.content == *content, "{name} by {copies:?}");
        }
        server.stop();
    }
}

/// Heidemann 1996, section 2.6: clients that ignore data in the segment of the head.
#[test]
fn a_client_is_answered_as_its_user_agent_needs_it() {
    let remedy = |agent: &str, by| Remedy { agent: agent.to_owned(), by };
    let remedies =
        vec![remedy("Mozilla/2", RemedyBy::NoPersistence), remedy("Oldie", RemedyBy::HeadApart)];
    // A pause after the head shows whether it leaves alone.
    let pause = Duration::from_millis(60);
    let behaviour = Behaviour { think_after_head: pause, ..Behaviour::FIXED };
    let server = Server::start(Config { remedies, ..Config::loopback(behaviour) }).unwrap();
    for (agent, persists, apart) in [
        ("Mozilla/2.0", false, false),
        ("an Oldie/1", true, true),
        ("curl", true, false),
        ("", true, false),
    ] {
        let mut client = Client::connect(&server);
        let start = Instant::now();
        let fetched = client.fetch(get("/300").field("User-Agent", agent));
        let closes = fetched.response.head.fields.text("Connection") == Some("close");
        assert_eq!((closes, fetched.content.len()), (!persists, 300), "{agent}");
        assert_eq!(start.elapsed() >= pause, apart, "{agent}");
    }
    server.stop();
}
