//! Sysctls of a namespace and options of a socket: every choice of an experiment's TCP, stated.

use std::{fs, io, time::Duration};

use ackwise_tcp::{
    Config,
    policy::{
        AckPolicy, BufferTuning, CongestionPolicy, FrtoPolicy, IdleRestart, InitialWindow,
        ResetInTimeWait,
    },
};
use socket2::Socket;

/// Sets what belongs to the calling thread's namespace.
pub(crate) fn configure_namespace(tcp: &Config) -> io::Result<()> {
    let policies = &tcp.policies;
    let offer = policies.offer;
    let on = |is: bool| if is { "1" } else { "0" }.to_owned();
    let fixed = |all: u64| format!("{LEAST} {all} {all}");
    let receive = match policies.receive_tuning {
        BufferTuning::Off => fixed(receive_space(tcp)),
        BufferTuning::Linux => format!("{LEAST} 131072 33554432"),
    };
    let send = match policies.send_tuning {
        // Half of a buffer is data, the rest is overhead.
        BufferTuning::Off => fixed(2 * u64::from(tcp.send_buffer)),
        BufferTuning::Linux => format!("{LEAST} 16384 4194304"),
    };
    let values = [
        ("tcp_no_metrics_save", on(true)),
        ("tcp_sack", on(offer.sack)),
        ("tcp_timestamps", on(offer.timestamps)),
        ("tcp_window_scaling", on(offer.window_scale)),
        ("tcp_moderate_rcvbuf", on(policies.receive_tuning == BufferTuning::Linux)),
        ("tcp_slow_start_after_idle", on(policies.idle_restart != IdleRestart::Keep)),
        ("tcp_frto", if policies.frto == FrtoPolicy::Off { "0" } else { "2" }.to_owned()),
        ("tcp_rfc1337", on(policies.reset_in_time_wait == ResetInTimeWait::Ignored)),
        ("tcp_rmem", receive),
        ("tcp_wmem", send),
        ("ip_local_port_range", "1024 65535".to_owned()),
    ];
    values.iter().try_for_each(|(name, value)| {
        let file = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&file, value)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot write {file}: {error}")))
    })
}

/// The buffer whose window is the wanted one, once full segments have arrived: the kernel counts what a
/// packet occupies, and offers the share of the buffer that is data in the largest segment so far
/// (`tcp_measure_rcv_mss`). Before that, it offers half (`TCP_DEFAULT_SCALING_RATIO`).
fn receive_space(tcp: &Config) -> u64 {
    let options = if tcp.policies.offer.timestamps { TIMESTAMPS } else { 0 };
    let data = u64::from(tcp.mss).saturating_sub(options);
    let ratio = truesize(mtu(tcp).into()).map_or(128, |size| data * 256 / size).max(1);
    (u64::from(tcp.receive_buffer) * 256).div_ceil(ratio)
}

/// What a packet from a TUN device occupies (`tun_build_skb`, `__build_skb_around`), on a machine with 64
/// bits and cache lines of 64 bytes; measured for 1,500 bytes: 2,432. `None` for what does not fit into a
/// page.
fn truesize(packet: u64) -> Option<u64> {
    let (headroom, shared_info, sk_buff) = (64 + 256, 320, 256);
    let page = 4_096;
    let buffer = (packet + headroom).next_multiple_of(64) + shared_info;
    (buffer <= page).then_some(buffer + sk_buff)
}

/// Sets what belongs to a socket before it connects or listens.
pub(crate) fn configure_socket(socket: &Socket, tcp: &Config) -> io::Result<()> {
    let name = match tcp.policies.congestion {
        CongestionPolicy::Bbr => "bbr",
        CongestionPolicy::LinuxReno => "reno",
        _ => "cubic",
    };
    let control = socket.set_tcp_congestion(name.as_bytes());
    control.map_err(|error| {
        let text = format!(
            "the kernel has no congestion control {name}: {error} (try `modprobe tcp_{name}`)"
        );
        io::Error::new(error.kind(), text)
    })?;
    let patience = Some(tcp.user_timeout).filter(|it| *it != STANDARD_PATIENCE);
    socket.set_tcp_user_timeout(patience)
}

/// Largest packet of a host: its MSS, and headers without options.
pub(crate) const fn mtu(tcp: &Config) -> u16 {
    tcp.mss.saturating_add(HEADERS)
}

/// The initial window in segments. RFC 6928's is the kernel's own.
pub(crate) fn initial_window(tcp: &Config) -> Option<u32> {
    match tcp.policies.initial_window {
        InitialWindow::Rfc6928 => None,
        other => Some(other.bytes(tcp.mss.into(), false) / u32::from(tcp.mss)),
    }
}

/// Whether each segment is acknowledged at once.
pub(crate) fn quick_ack(tcp: &Config) -> bool {
    tcp.policies.ack == AckPolicy::EverySegment
}

/// IP and TCP headers without options.
const HEADERS: u16 = 40;
/// Bytes of the option with its padding, in each segment.
const TIMESTAMPS: u64 = 12;
/// The kernel's least buffer, one page.
const LEAST: u32 = 4_096;
/// [`Config::new`]'s, for which the kernel's own takes its place: 15 retransmissions.
const STANDARD_PATIENCE: Duration = Duration::from_secs(180);

#[cfg(test)]
mod tests {
    use ackwise_tcp::policy::Policies;

    use super::*;

    #[test]
    fn a_buffer_has_room_for_the_window_and_what_the_packets_occupy_beside_it() {
        assert_eq!(truesize(1_500), Some(2_432));
        assert_eq!(truesize(9_000), None);
        let window = 14 * 1_460;
        let tcp = Config { receive_buffer: window, ..Config::new(Policies::LINUX_6) };
        // 1,448 of 2,432 bytes are data: 152 of 256.
        assert_eq!(receive_space(&tcp), 34_426);
        assert_eq!(receive_space(&tcp) * 152 / 256, window.into());
        let jumbo = Config { mss: 8_960, ..tcp };
        assert_eq!(receive_space(&jumbo), 2 * u64::from(window));
    }
}
