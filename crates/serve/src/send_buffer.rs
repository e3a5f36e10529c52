//! The send buffer of one connection by E-ATBT (Okamoto et al. 2001, section 2.1), from what the kernel shows of it.
//!
//! The rule and the reading of a slow client are `ackwise_tuning`'s, as with `ackwise tune`. Not here: a pool that the
//! connections share.

use std::{io, net::TcpStream};

use crate::SendBuffers;

/// Bytes of one write with a tuned buffer, so that a long response is looked at again and again (our choice: four of
/// the buffers that a connection begins with).
pub(crate) const TUNED_WRITE: u64 = 64 * 1024;

/// The buffer of one connection.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    #[cfg(target_os = "linux")]
    tuned: Option<on_linux::Tuned>,
}

impl SendBuffer {
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux shows it"))]
    pub(crate) fn new(rule: SendBuffers) -> Self {
        Self {
            #[cfg(target_os = "linux")]
            tuned: (rule == SendBuffers::Eatbt).then(on_linux::Tuned::default),
        }
    }

    /// Whether it is tuned, so that writes must be short.
    pub(crate) const fn is_tuned(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.tuned.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Looks at the connection, and sets its buffer if that should change.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(clippy::needless_pass_by_ref_mut, reason = "Linux")
    )]
    pub(crate) fn adjust(&mut self, stream: &TcpStream) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(tuned) = &mut self.tuned {
            return tuned.adjust(stream);
        }
        let _ = stream;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::{
        num::NonZeroU32,
        time::{Duration, Instant},
    };

    use ackwise_tcp::{ByteCount, Nanos};
    use ackwise_tuning::{Eatbt, SeenSender, Shown};
    use socket2::SockRef;

    use super::{TcpStream, io};
    use ackwise_linux::sockets::TcpInfo;

    #[derive(Debug, Default)]
    pub(super) struct Tuned {
        seen: Option<SeenSender>,
        looked: Option<Instant>,
        /// Bytes of data that the buffer holds; 0 before the first look.
        set: u64,
    }

    impl Tuned {
        pub(super) fn adjust(&mut self, stream: &TcpStream) -> io::Result<()> {
            let now = Instant::now();
            if self.looked.is_some_and(|looked| now - looked < LOOK_EVERY) {
                return Ok(());
            }
            let Some(shown) = shown(&TcpInfo::of(stream)?) else { return Ok(()) };
            self.looked = Some(now);
            let seen = match &mut self.seen {
                None => self.seen.insert(SeenSender::new(shown)),
                Some(seen) => {
                    seen.observe(shown);
                    seen
                }
            };
            let wanted = seen.demand(&Eatbt::OKAMOTO_2001).bytes.0.clamp(LEAST, MOST);
            if wanted.abs_diff(self.set) > self.set / 8 {
                let bytes = usize::try_from(wanted).map_err(io::Error::other)?;
                // socket(7): the kernel doubles the value for its bookkeeping.
                SockRef::from(stream).set_send_buffer_size(bytes)?;
                self.set = wanted;
            }
            Ok(())
        }
    }

    fn shown(info: &TcpInfo) -> Option<Shown> {
        let micros = |us: u32| Nanos::from_micros(us.into());
        let on_the_way = u64::from(info.unacked) * u64::from(info.snd_mss);
        Some(Shown {
            acknowledged: info.bytes_acked,
            segments: info.data_segs_out.into(),
            retransmitted: info.total_retrans.into(),
            busy: Duration::from_micros(info.busy_us),
            window_closed: Duration::from_micros(info.window_limited_us),
            buffer_full: Duration::from_micros(info.send_buffer_limited_us),
            queued: ByteCount(u64::from(info.notsent_bytes) + on_the_way),
            round_trip: micros(info.rtt_us),
            // Before the first sample.
            least_round_trip: micros(info.min_rtt_us.min(info.rtt_us)),
            timeout: micros(info.rto_us),
            mss: NonZeroU32::new(info.snd_mss)?,
            peer_window: ByteCount(info.snd_wnd?.into()),
        })
    }

    /// Our choice: more than the 200 ms of sending that show a rate ([`SeenSender::observe`]).
    const LOOK_EVERY: Duration = Duration::from_millis(250);
    /// The kernel's own minimum (`SOCK_MIN_SNDBUF`), as data.
    const LEAST: u64 = 2_304;
    /// Our choice: what `net.core.wmem_max` allows on current kernels, as data.
    const MOST: u64 = 4 << 20;

    #[cfg(test)]
    mod tests {
        use std::{
            io::{Read, Write},
            net::TcpListener,
            thread,
        };

        use super::*;

        fn pair() -> (TcpStream, TcpStream) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (listener.accept().unwrap().0, client)
        }

        fn set(stream: &TcpStream) -> usize {
            SockRef::from(stream).send_buffer_size().unwrap() / 2
        }

        #[test]
        fn a_connection_begins_with_the_paper_s_16_kilobytes_or_two_segments() {
            let (server, _client) = pair();
            let mss = TcpInfo::of(&server).unwrap().snd_mss as usize;
            let mut tuned = Tuned::default();
            tuned.adjust(&server).unwrap();
            assert_eq!(set(&server), (16 * 1024).max(2 * mss));
        }

        #[test]
        fn the_buffer_of_a_fast_client_grows_and_holds_what_was_written() {
            let (mut server, mut client) = pair();
            let reader = thread::spawn(move || {
                let (mut buffer, mut total) = (vec![0; 1 << 16], 0);
                while let Ok(bytes @ 1..) = client.read(&mut buffer) {
                    total += bytes;
                }
                total
            });
            let mut tuned = Tuned::default();
            tuned.adjust(&server).unwrap();
            let first = set(&server);
            let end = Instant::now() + Duration::from_millis(1_500);
            let (mut written, mut largest) = (0, first);
            while Instant::now() < end {
                server.write_all(&[0; 1 << 16]).unwrap();
                written += 1 << 16;
                tuned.adjust(&server).unwrap();
                largest = largest.max(set(&server));
            }
            drop(server);
            assert_eq!(reader.join().unwrap(), written);
            assert!(largest > first, "{largest} after {first}");
        }

        #[test]
        fn the_buffer_of_a_client_that_stops_reading_does_not_grow_beyond_what_is_in_it() {
            let (server, _client) = pair();
            let mut tuned = Tuned::default();
            tuned.adjust(&server).unwrap();
            server.set_nonblocking(true).unwrap();
            let fill = || while (&server).write(&[0; 4096]).is_ok() {};
            let mut sizes = Vec::new();
            for _ in 0..6 {
                fill();
                thread::sleep(LOOK_EVERY);
                tuned.adjust(&server).unwrap();
                sizes.push(set(&server));
            }
            assert!(sizes[5] <= sizes[1], "{sizes:?}");
        }
    }
}
