//! A small version of `cargo xtask bench tune --in-flight`: no request that the server has read is cut off.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering},
};

use super::*;

/// Every connection that is quiet for 50 ms may close, and half of the pauses are longer.
#[test]
fn requests_after_pauses_are_answered_or_never_read() {
    let test = "requests_after_pauses_are_answered_or_never_read";
    run(test, || {
        let own = Own::new();
        let port = own.port.to_string();
        let limits = ["--max-connections", "1", "--idle-at-least", "50ms", "--unsure-after", "1s"];
        let mut tuning = Tuning::start(&[&["--port", &port][..], &limits[..]].concat());
        let cut_off = AtomicU32::new(0);
        let opening = Mutex::new(());
        let open = || {
            let _one = opening.lock().unwrap();
            own.pair(1)
        };
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (open, cut_off) = (&open, &cut_off);
                scope.spawn(move || {
                    // The number of the last request that the server has read.
                    let read: &AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
                    let mut kept = None;
                    for number in 1..=REQUESTS {
                        let mut stream: TcpStream = kept.take().unwrap_or_else(|| {
                            let (stream, server) = open();
                            scope.spawn(move || serve(server, read));
                            stream
                        });
                        stream.set_read_timeout(Some(LIMIT)).unwrap();
                        let sent = stream.write_all(&number.to_be_bytes());
                        match sent.and_then(|()| stream.read_exact(&mut [0; 4])) {
                            Ok(()) => kept = Some(stream),
                            Err(_) => {
                                let was_read = read.load(Ordering::SeqCst) == number;
                                cut_off.fetch_add(u32::from(was_read), Ordering::SeqCst);
                            }
                        }
                        // Spread over a tenth of a second, and the same in each run.
                        let pause = (client * 37 + number * 61) % 100;
                        thread::sleep(Duration::from_millis(pause.into()));
                    }
                });
            }
        });
        let text = tuning.end();
        let closed = text.lines().filter(|line| line.contains(" closed      ")).count();
        assert!(closed > 10, "{text}");
        assert_eq!(cut_off.load(Ordering::SeqCst), 0, "{text}");
        Ok(())
    });
}

/// Answers each request after 10 ms.
fn serve(mut stream: TcpStream, read: &AtomicU32) {
    let mut request = [0; 4];
    while stream.read_exact(&mut request).is_ok() {
        read.store(u32::from_be_bytes(request), Ordering::SeqCst);
        thread::sleep(Duration::from_millis(10));
        if stream.write_all(&request).is_err() {
            return;
        }
    }
}

const CLIENTS: u32 = 20;
const REQUESTS: u32 = 100;
