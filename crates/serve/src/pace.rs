//! Restart after idle by rate (Heidemann 1997, section 2.4), from the program: one window in one round trip
//! (`SO_MAX_PACING_RATE`, socket(7)), then no limit.
//!
//! Only where the kernel keeps the window over an idle period: with `net.ipv4.tcp_slow_start_after_idle=1` it
//! cuts it to the initial window before the first byte leaves, whatever the program asks for.

use std::{fs, io, net::TcpStream, time::Instant};

/// A window that is being paced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restart {
    /// Its bytes that are still to be written.
    pub(crate) bytes: u64,
    /// When the first ACK is due.
    pub(crate) until: Instant,
}

/// Whether the kernel keeps the window of an idle connection, so that it can be paced.
///
/// # Errors
///
/// If the setting cannot be read.
pub fn kernel_keeps_the_window() -> io::Result<bool> {
    Ok(fs::read_to_string(SETTING)?.trim() == "0")
}

const SETTING: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{lift, restart};

#[cfg(target_os = "linux")]
mod on_linux {
    use std::time::Duration;

    use nix::{
        libc, setsockopt_impl,
        sys::socket::{SetSockOpt, sockopt::SetStruct},
    };

    use super::{Instant, Restart, TcpStream, io};
    use ackwise_linux::sockets::TcpInfo;

    #[derive(Clone, Copy, Debug)]
    struct MaxPacingRate;
    setsockopt_impl!(
        MaxPacingRate,
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        u64,
        SetStruct<u64>
    );

    /// Paces the window if nothing was sent for more than one RTO.
    pub(crate) fn restart(stream: &TcpStream) -> io::Result<Option<Restart>> {
        let info = TcpInfo::of(stream)?;
        let idle = Duration::from_millis(info.last_data_sent_ms.into());
        let rtt = Duration::from_micros(info.rtt_us.into());
        let window = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
        let is_idle = idle > Duration::from_micros(info.rto_us.into());
        if !is_idle || info.snd_cwnd <= INITIAL_WINDOW || info.rtt_us == 0 {
            lift(stream)?;
            return Ok(None);
        }
        let rate = window * 1_000_000 / u64::from(info.rtt_us);
        MaxPacingRate.set(stream, &rate)?;
        Ok(Some(Restart { bytes: window, until: Instant::now() + rtt }))
    }

    /// Ends it.
    pub(crate) fn lift(stream: &TcpStream) -> io::Result<()> {
        Ok(MaxPacingRate.set(stream, &UNLIMITED)?)
    }

    /// RFC 6928: what may be sent at once anyway.
    const INITIAL_WINDOW: u32 = 10;
    /// As the kernel writes it.
    const UNLIMITED: u64 = u64::MAX;
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn restart(_: &TcpStream) -> io::Result<Option<Restart>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn lift(_: &TcpStream) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
        time::Duration,
    };

    use socket2::SockRef;

    use super::*;

    #[test]
    fn a_connection_is_paced_only_after_idle_and_with_a_window_to_pace() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Its window grows beyond the initial one, and BBR's depends on the rate.
        SockRef::from(&listener).set_tcp_congestion(b"reno").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert!(restart(&server).unwrap().is_none(), "nothing was sent");
        let reader = thread::spawn(move || {
            client.read_exact(&mut vec![0; 20_000_000]).unwrap();
            client
        });
        server.write_all(&vec![0; 20_000_000]).unwrap();
        let _client = reader.join().unwrap();
        assert!(restart(&server).unwrap().is_none(), "it is not idle");
        thread::sleep(Duration::from_millis(500));
        let paced = restart(&server).unwrap().expect("it is idle, with a window of megabytes");
        assert!(paced.bytes > 14_600 && paced.until > Instant::now() - Duration::from_secs(1));
        lift(&server).unwrap();
    }
}
