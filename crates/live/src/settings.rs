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
    // Half of a buffer is window, the rest is overhead (`TCP_DEFAULT_SCALING_RATIO`).
    let fixed =
        |bytes: u32| format!("{least} {all} {all}", least = LEAST, all = 2 * u64::from(bytes));
    let receive = match policies.receive_tuning {
        BufferTuning::Off => fixed(tcp.receive_buffer),
        BufferTuning::Linux => format!("{LEAST} 131072 33554432"),
    };
    let send = match policies.send_tuning {
        BufferTuning::Off => fixed(tcp.send_buffer),
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
        other => Some(other.bytes(tcp.mss.into(), false, false) / u32::from(tcp.mss)),
    }
}

/// Whether each segment is acknowledged at once.
pub(crate) fn quick_ack(tcp: &Config) -> bool {
    tcp.policies.ack == AckPolicy::EverySegment
}

/// IP and TCP headers without options.
const HEADERS: u16 = 40;
/// The kernel's least buffer, one page.
const LEAST: u32 = 4_096;
/// [`Config::new`]'s, for which the kernel's own takes its place: 15 retransmissions.
const STANDARD_PATIENCE: Duration = Duration::from_secs(180);
