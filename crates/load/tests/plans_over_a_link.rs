//! The plans over an emulated link: which segments carry a page, and what GETWEB saves.
//!
//! `ACKWISE_PLANS_TABLE=1` with `--nocapture` prints the table of docs/load/results.md.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{fs, net::SocketAddr, num::NonZeroU32, ops::ControlFlow, sync::Arc, time::Duration};

use ackwise_http::{Behaviour, behaviour::Gather, page::Transfer};
use ackwise_link::{LinkConfig, Queue, Rate};
use ackwise_linux::{
    Emulator, Namespace,
    emulator::{EmulatorOptions, PacketRecord, Report},
};
use ackwise_load::pages::{Cache, LoadedPage, PageFile, PageLoad, WebPage, load_pages};
use ackwise_net::{KernelTransport, Sources};
use ackwise_serve::{Config, Documents, Server, Site};
use ackwise_testing::{inconclusive, skip};

/// MSS of Ethernet with timestamps.
const MSS: usize = 1448;
const SEGMENT: NonZeroU32 = NonZeroU32::new(1460).unwrap();
const FILLED: Transfer = Transfer::SegmentFilled { segment: SEGMENT };

/// Loads pages by `load` over a link of 10 Mb/s and 25 ms each way.
fn over_a_link(load: &PageLoad, documents: Documents) -> Result<(Vec<LoadedPage>, Report), String> {
    let link = LinkConfig {
        rate: Rate::bits_per_second(10_000_000),
        delay: Duration::from_millis(25),
        queue: Queue::packets(1000).unwrap(),
        ..LinkConfig::IDEAL
    };
    let mut options = EmulatorOptions::symmetric(link);
    options.log = true;
    let namespaces = || Ok([Namespace::create()?, Namespace::create()?]);
    let [client, server]: [Namespace; 2] =
        namespaces().map_err(|missing: ackwise_linux::NamespaceError| missing.to_string())?;
    let emulator =
        Emulator::between(&client, &server, &options).map_err(|missing| missing.to_string())?;
    let config = Config {
        bind: SocketAddr::from(([0, 0, 0, 0], 8080)),
        documents,
        getweb: true,
        ..Config::loopback(Behaviour { gather: Gather::Pending, ..Behaviour::FIXED })
    };
    let running = server.run(|| Server::start(config)).unwrap().unwrap();
    let address = SocketAddr::from((emulator.server_address(), 8080));
    let loaded = client.run(|| {
        let mut transport = KernelTransport::new(address, Sources::Any, load.slots()).unwrap();
        load_pages(&mut transport, load, |_| ControlFlow::Continue(())).unwrap()
    });
    std::thread::sleep(Duration::from_millis(100)); // The last ACKs.
    running.stop();
    let loaded = loaded.unwrap();
    assert!(loaded.pages.iter().all(|page| page.failure.is_none()), "{:?}", loaded.pages);
    Ok((loaded.pages, emulator.stop().unwrap()))
}

/// Bytes of data in a packet.
fn data(packet: &PacketRecord) -> usize {
    let ip = usize::from(packet.headers[0] & 15) * 4;
    let tcp = usize::from(packet.headers[ip + 12] >> 4) * 4;
    packet.length - ip - tcp
}

/// The streams of the server: lengths of the data segments between two requests, in order.
fn streams(report: &Report) -> Vec<Vec<usize>> {
    let mut packets: Vec<&PacketRecord> =
        report.packets.iter().filter(|packet| data(packet) > 0).collect();
    packets.sort_by_key(|packet| packet.offered);
    let runs = packets.chunk_by(|one, other| one.to_server == other.to_server);
    runs.filter(|run| !run[0].to_server)
        .map(|run| run.iter().map(|it| data(it)).collect())
        .collect()
}

#[test]
fn only_the_last_segment_of_a_stream_is_short() {
    let name = "only_the_last_segment_of_a_stream_is_short";
    let sizes = [15_000, 3883, 1866, 40, 9000, 700, 12_345];
    let files = sizes.map(|size| PageFile::sized("/{bytes}", size)).into();
    let page = WebPage { host: "h".to_owned(), fields: Vec::new(), files };
    for (transfer, expected) in [(FILLED, 2), (Transfer::Pipelined, 2), (Transfer::Persistent, 7)] {
        let load = PageLoad::new(vec![page.clone()], transfer);
        let (pages, report) = match over_a_link(&load, Documents::Generated) {
            Ok(done) => done,
            Err(missing) => return skip(name, missing),
        };
        if report.packets.iter().any(|packet| packet.sent.is_err()) {
            return inconclusive(name, "the link dropped packets");
        }
        let streams = streams(&report);
        assert_eq!(streams.len(), expected, "{transfer:?}: {streams:?}");
        for stream in &streams {
            let (_, before) = stream.split_last().unwrap();
            assert!(before.iter().all(|length| *length == MSS), "{transfer:?}: {stream:?}");
        }
        let segments: usize = streams.iter().map(Vec::len).sum();
        let fewest: usize = streams.iter().map(|it| it.iter().sum::<usize>().div_ceil(MSS)).sum();
        assert_eq!(segments, fewest, "{transfer:?}");
        let bytes: usize = streams.iter().flatten().sum();
        assert_eq!(bytes as u64, pages[0].received);
    }
}

/// A page of 100 files of 1 to 6 KB.
fn site() -> (tempfile::TempDir, Documents, WebPage) {
    let directory = tempfile::tempdir().unwrap();
    let html: String = (0..99).map(|file| format!("<img src={file}.gif>\n")).collect();
    fs::write(directory.path().join("index.html"), html).unwrap();
    for file in 0..99 {
        let content = vec![b'x'; 1000 + 5000 * (file * 37 % 99) / 98];
        fs::write(directory.path().join(format!("{file}.gif")), content).unwrap();
    }
    let documents = Documents::Stored(Arc::new(Site::open(directory.path()).unwrap()));
    let inlines = (0..99).map(|file| PageFile::whole(format!("/{file}.gif")));
    let files = [PageFile::whole("/")].into_iter().chain(inlines).collect();
    (directory, documents, WebPage { host: "h".to_owned(), fields: Vec::new(), files })
}

#[test]
fn getweb_asks_once_and_takes_no_longer_than_pipelining() {
    let name = "getweb_asks_once_and_takes_no_longer_than_pipelining";
    let (_directory, documents, page) = site();
    let mut table = String::new();
    for percent in [0, 50, 100] {
        let mut times = Vec::new();
        for transfer in [Transfer::GetWeb, Transfer::Pipelined, Transfer::Persistent] {
            let cache = Cache { per_million: percent * 10_000, ..Cache::default() };
            // A hundred round trips each.
            let pages = if transfer == Transfer::Persistent { 1 } else { 3 };
            let load = PageLoad {
                pages: Some(pages),
                cache,
                ..PageLoad::new(vec![page.clone()], transfer)
            };
            let (mut pages, report) = match over_a_link(&load, documents.clone()) {
                Ok(done) => done,
                Err(missing) => return skip(name, missing),
            };
            pages.sort_by_key(|page| page.took);
            let (packets, median) = (report.packets.len() / pages.len(), pages[pages.len() / 2]);
            let LoadedPage { took, requests, sent, received, files, .. } = median;
            table += &format!(
                "| {percent} % | {transfer:?} | {requests} | {files} | {:.0} ms | {sent} | {received} | {packets} |\n",
                took.as_secs_f64() * 1e3
            );
            times.push((median, transfer));
        }
        let [getweb, pipelined, persistent] = [0, 1, 2].map(|at| times[at].0);
        assert_eq!(getweb.requests, 1);
        if percent < 100 {
            assert!(getweb.sent < pipelined.sent, "{table}");
            // A round trip less: the page and its files are asked for at once.
            assert!(getweb.took + Duration::from_millis(30) < pipelined.took, "{table}");
            assert!(pipelined.took * 2 < persistent.took, "{table}");
        }
    }
    if std::env::var_os("ACKWISE_PLANS_TABLE").is_some() {
        println!("{table}");
    }
}
