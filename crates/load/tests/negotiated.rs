//! Which end holds TIME-WAIT by agreement: Ackwise's TCP at both ends, each on its own TUN device, with the kernel
//! between them as a router.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    net::SocketAddr,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use ackwise_http::Behaviour;
use ackwise_linux::{TunDevice, device::TunOptions};
use ackwise_load::{CloseMode, HeldCount, LoadOptions, LoadReport, StackMode, load};
use ackwise_serve::{Config, StackServer};
use ackwise_tcp::{TimeWaitHolder, TimeWaitReason, policy::ClosePolicy};
use ackwise_testing::{in_namespace, skip};

/// Loads a server with the policy `server`, and returns the report and the server's own TIME-WAIT.
fn loaded(
    server: ClosePolicy,
    close: CloseMode,
    connections: u64,
) -> (LoadReport, Vec<TimeWaitReason>) {
    let device = TunDevice::open(TunOptions::default()).unwrap();
    let bind = SocketAddr::from(([0, 0, 0, 0], 8080));
    let config = Config { bind, ..Config::loopback(Behaviour::FIXED) };
    let mut server = StackServer::start(device, config, server).unwrap();
    let options = LoadOptions {
        connections: Some(connections),
        close,
        stack: Some(StackMode::Ackwise),
        allow_host_changes: true,
        ..LoadOptions::new(format!("http://{}/300", server.address()).parse().unwrap())
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                server.poll(Instant::now() + Duration::from_millis(50)).unwrap();
            }
            assert_eq!(server.stats().answered, connections);
            server.time_wait()
        });
        let report = load(&options, &mut |_| ControlFlow::Continue(()));
        done.store(true, Ordering::Relaxed);
        (report.unwrap(), serving.join().unwrap())
    })
}

fn with_router(name: &str, test: impl FnOnce() + Send) {
    in_namespace(name, || match TunDevice::open(TunOptions::default()) {
        Ok(device) => {
            drop(device);
            test();
        }
        Err(missing) => skip(name, missing),
    });
}

#[test]
fn the_end_that_offered_holds_all_connections() {
    with_router("the_end_that_offered_holds_all_connections", || {
        let server = ClosePolicy::Negotiated(TimeWaitHolder::Yours);
        let (report, at_server) = loaded(server, CloseMode::Negotiated, 2_000);
        assert_eq!((report.requests, report.failed), (2_000, 0));
        assert_eq!(at_server, [], "the server relies on the client");
        assert_eq!(report.time_wait.client, HeldCount::Known(2_000));
        assert_eq!(report.time_wait.reasons, [(TimeWaitReason::Agreed, 2_000)]);
        assert!(report.summary().contains("agreed in their SYNs"), "{}", report.summary());
    });
}

#[test]
fn a_server_that_does_not_know_the_offer_holds_them_itself() {
    with_router("a_server_that_does_not_know_the_offer_holds_them_itself", || {
        let (report, at_server) = loaded(ClosePolicy::Ordinary, CloseMode::Negotiated, 200);
        assert_eq!(at_server, [TimeWaitReason::ClosedFirst; 200]);
        assert_eq!(report.time_wait.client, HeldCount::Known(0));
        assert!(report.summary().contains("did not accept"), "{}", report.summary());
    });
}

#[test]
fn a_client_without_the_option_leaves_them_to_a_server_that_asked() {
    with_router("a_client_without_the_option_leaves_them_to_a_server_that_asked", || {
        let server = ClosePolicy::Negotiated(TimeWaitHolder::Yours);
        let (report, at_server) = loaded(server, CloseMode::Server, 200);
        assert_eq!(at_server.len(), 200);
        assert_eq!(report.time_wait.client, HeldCount::Known(0));
    });
}
