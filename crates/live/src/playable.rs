//! What of a scenario the kernel can be made to do, or our TCP on a TUN device, and why not the rest.
//!
//! Keys are those of an experiment file. Nothing is approximated in silence: a key that Linux cannot be
//! set to is refused before anything starts.

use std::fmt;

use ackwise_sim::{
    Scenario,
    scenario::{ApplicationKind, CostModel, Node, NodeId},
};
use ackwise_tcp::{
    Config,
    policy::{
        AckPolicy, BufferTuning, ClosePolicy, CongestionPolicy, FrtoPolicy, HoldPolicy,
        IdleRestart, LossDetection, OpenPolicy, Policies, ReductionPolicy, Sharing,
        SlowStartPolicy, StartPolicy, TimerPolicy, UndoPolicy, UnusedWindow,
    },
};

use ackwise_linux::emulator::EmulatedNetwork;

/// Whose TCP plays a scenario.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum World {
    /// The kernel's, at both ends.
    #[default]
    Kernel,
    /// Ours on TUN devices at the clients, the kernel's at the servers.
    Wire,
}

/// What cannot be played in real time.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Unplayable {
    /// Where it was to be played.
    pub world: World,
    /// Whose key it is.
    pub whose: Whose,
    /// The key of the experiment file.
    pub key: &'static str,
    /// What the kernel does instead, or why it cannot.
    pub reason: &'static str,
}

/// Whose key cannot be played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Whose {
    /// The whole run's.
    Run,
    /// The host's with this name.
    Host(String),
    /// The application's with this name.
    Application(String),
    /// The link's with this name.
    Link(String),
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("the run"),
            Self::Host(name) => write!(f, "host \"{name}\""),
            Self::Application(name) => write!(f, "application \"{name}\""),
            Self::Link(name) => write!(f, "link \"{name}\""),
        }
    }
}

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { world, whose, key, reason } = self;
        let place = match world {
            World::Kernel => "kernel",
            World::Wire => "wire",
        };
        write!(f, "cannot run on the {place}: {key} of {whose}: {reason}")
    }
}

impl std::error::Error for Unplayable {}

/// Whether a world can play a scenario.
///
/// # Errors
///
/// The first key that it cannot play.
pub fn check(scenario: &Scenario, world: World) -> Result<(), Unplayable> {
    let unplayable = |whose, key, reason| Err(Unplayable { world, whose, key, reason });
    let hosts =
        || (0..).map(NodeId).zip(&scenario.nodes).filter_map(|(id, it)| Some((id, it, it.tcp?)));
    for (id, node, tcp) in hosts() {
        let of_world = match world {
            World::Wire if is_client(scenario, id) => of_our_tcp(&tcp).or_else(|| {
                let both =
                    "a host is a client with our TCP or a server with the kernel's, not both";
                is_server(scenario, id).then_some(("server", both))
            }),
            World::Kernel | World::Wire => of_tcp(&tcp),
        };
        if let Some((key, reason)) = of_node(node).or(of_world) {
            return unplayable(Whose::Host(node.name.clone()), key, reason);
        }
    }
    if hosts().count() > EmulatedNetwork::MAX_ADDRESSES {
        return unplayable(Whose::Run, "host", "more than 4,096 hosts");
    }
    if let Some(link) = scenario.links.iter().find(|it| it.forgets_after.is_some()) {
        let reason = "the link emulator does not know connections, so it forgets none";
        return unplayable(Whose::Link(link.name.clone()), "forgets_after", reason);
    }
    for application in &scenario.applications {
        if let ApplicationKind::Proxy(_) = application.kind {
            let whose = Whose::Application(application.name.clone());
            let reason =
                "a proxy is played by `reproduce okamoto` only (expected web, bulk or arrivals)";
            return unplayable(whose, "kind", reason);
        }
        if let ApplicationKind::Web(web) = &application.kind
            && web.slow_reader.is_some()
        {
            let whose = Whose::Application(application.name.clone());
            let reason = "programs in real time read at once: at-once";
            return unplayable(whose, "reads", reason);
        }
        if let ApplicationKind::Web(web) = &application.kind
            && web.response_timeout.is_some()
        {
            let whose = Whose::Application(application.name.clone());
            let reason = "programs in real time wait as long as their TCP does: none";
            return unplayable(whose, "response_timeout", reason);
        }
    }
    Ok(())
}

/// Whether a host opens connections.
pub(crate) fn is_client(scenario: &Scenario, host: NodeId) -> bool {
    scenario.applications.iter().any(|it| it.client == host)
}

fn is_server(scenario: &Scenario, host: NodeId) -> bool {
    scenario.applications.iter().any(|it| it.server == host)
}

type Problem = Option<(&'static str, &'static str)>;

fn of_node(node: &Node) -> Problem {
    if node.cost != CostModel::default() {
        return Some(("cost", "in real time, work takes what it takes"));
    }
    node.table.map(|_| ("table", "hosts have hash tables of their own, which cannot be replaced"))
}

/// What our TCP on a TUN device cannot do, or not with a kernel at the other end.
fn of_our_tcp(tcp: &Config) -> Problem {
    let Policies { sharing, open, congestion, .. } = tcp.policies;
    if congestion == CongestionPolicy::External {
        return Some(("congestion", "external is for simulations in steps, from Python"));
    }
    if sharing != Sharing::Off {
        return Some(("sharing", "only simulated hosts share the state of connections: off"));
    }
    (open != OpenPolicy::Handshake).then_some(("open", "only handshake is supported"))
}

fn of_tcp(tcp: &Config) -> Problem {
    let Config { policies, time_wait, .. } = tcp;
    if *time_wait != LINUX_TIME_WAIT {
        return Some(("time_wait", "Linux has 60 s (TCP_TIMEWAIT_LEN), which cannot be set"));
    }
    let rules = sender(policies).into_iter().chain(recovery(policies)).chain(windows(policies));
    rules.into_iter().find(|(playable, ..)| !playable).map(|(_, key, reason)| (key, reason))
}

/// Whether the kernel can play a key, and what it has.
type Rule = (bool, &'static str, &'static str);

/// What is sent, acknowledged and closed when.
fn sender(policies: &Policies) -> [Rule; 8] {
    let Policies { ack, hold, congestion, start, sharing, open, close, timers, .. } = *policies;
    [
        (
            matches!(ack, AckPolicy::LinuxQuickAck | AckPolicy::EverySegment),
            "ack",
            "Linux has linux-quick-ack, and every-segment (a route with quickack)",
        ),
        (
            matches!(hold, HoldPolicy::Minshall | HoldPolicy::Off),
            "hold",
            "Linux has minshall, and off (TCP_NODELAY); a cork is a server's behaviour",
        ),
        (
            matches!(
                congestion,
                CongestionPolicy::Cubic | CongestionPolicy::LinuxReno | CongestionPolicy::Bbr
            ),
            "congestion",
            "Linux has cubic, linux-reno and bbr",
        ),
        (
            start == StartPolicy::AtOnce,
            "start",
            "Linux sends its first window immediately: at-once",
        ),
        (timers == TimerPolicy::Linux, "timers", "Linux has its own: linux"),
        (sharing == Sharing::Off, "sharing", "each run has namespaces of its own: off"),
        (open == OpenPolicy::Handshake, "open", "only handshake is supported"),
        (close == ClosePolicy::Ordinary, "close", "Linux has ordinary"),
    ]
}

/// What is lost, and what follows from it.
fn recovery(policies: &Policies) -> [Rule; 4] {
    // Linux has both.
    let (FrtoPolicy::Off | FrtoPolicy::Linux) = policies.frto;
    let Policies { loss_detection, reduction, undo, slow_start, congestion, .. } = *policies;
    let bbr = congestion == CongestionPolicy::Bbr;
    let cubic = congestion == CongestionPolicy::Cubic;
    let expected = if cubic { SlowStartPolicy::HyStart } else { SlowStartPolicy::UntilLoss };
    [
        (loss_detection == LossDetection::Rack, "loss_detection", "Linux has rack"),
        (bbr || reduction == ReductionPolicy::Proportional, "reduction", "Linux has proportional"),
        (undo == UndoPolicy::Linux, "undo", "Linux has linux"),
        (
            slow_start == expected,
            "slow_start",
            "Linux has hystart with cubic, and until-loss with linux-reno and bbr",
        ),
    ]
}

/// Congestion windows that are not used. Buffers can have any size, and grow or not.
fn windows(policies: &Policies) -> [Rule; 1] {
    let Policies { unused_window, idle_restart, congestion, .. } = *policies;
    let (BufferTuning::Off | BufferTuning::Linux) = policies.receive_tuning;
    let (BufferTuning::Off | BufferTuning::Linux) = policies.send_tuning;
    let both = (unused_window, idle_restart);
    let kept = both == (UnusedWindow::Kept, IdleRestart::Keep);
    let decays = both == (UnusedWindow::Linux, IdleRestart::LINUX);
    let bbr = congestion == CongestionPolicy::Bbr;
    let key = if idle_restart == IdleRestart::Keep { "unused_window" } else { "idle_restart" };
    [(
        kept || decays && !bbr,
        key,
        "Linux has decay with unused_window = \"linux\", and keep with unused_window = \"kept\" \
         (tcp_slow_start_after_idle); bbr has the latter only",
    )]
}

/// `TCP_TIMEWAIT_LEN` (`include/net/tcp.h`).
const LINUX_TIME_WAIT: std::time::Duration = std::time::Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_tcp_plays_what_the_kernel_cannot_and_shares_nothing() {
        let config = |policies| of_our_tcp(&Config::new(policies)).map(|(key, _)| key);
        for policies in [Policies::LINUX_6, Policies::SUNOS_4_1, Policies::RFC] {
            assert_eq!(config(policies), None);
        }
        let shared = Policies { sharing: Sharing::Temporal, ..Policies::RFC };
        assert_eq!(config(shared), Some("sharing"));
        let early = Policies { open: OpenPolicy::FastOpen, ..Policies::RFC };
        assert_eq!(config(early), Some("open"));
    }

    #[test]
    fn linux_can_play_its_own_presets_and_says_what_it_cannot() {
        let config = |policies| of_tcp(&Config::new(policies)).map(|(key, _)| key);
        assert_eq!(config(Policies::LINUX_6), None);
        assert_eq!(config(Policies::LINUX_6_BBR), None);
        assert_eq!(config(Policies::SUNOS_4_1), Some("ack"));
        assert_eq!(config(Policies::RFC), Some("ack"));
        let linux = Policies::LINUX_6;
        let reno = Policies {
            congestion: CongestionPolicy::LinuxReno,
            slow_start: SlowStartPolicy::UntilLoss,
            ..linux
        };
        assert_eq!(config(reno), None);
        assert_eq!(
            config(Policies { congestion: CongestionPolicy::Tahoe, ..reno }),
            Some("congestion")
        );
        assert_eq!(
            config(Policies { congestion: CongestionPolicy::LinuxReno, ..linux }),
            Some("slow_start")
        );
        assert_eq!(config(Policies { hold: HoldPolicy::Off, ..linux }), None);
        assert_eq!(config(Policies { hold: HoldPolicy::Nagle, ..linux }), Some("hold"));
        let keep = Policies { idle_restart: IdleRestart::Keep, ..linux };
        assert_eq!(config(keep), Some("unused_window"));
        assert_eq!(config(Policies { unused_window: UnusedWindow::Kept, ..keep }), None);
        assert_eq!(
            config(Policies { idle_restart: IdleRestart::RFC_5681, ..linux }),
            Some("idle_restart")
        );
        let short = Config { time_wait: std::time::Duration::from_secs(1), ..Config::new(linux) };
        assert_eq!(of_tcp(&short).map(|(key, _)| key), Some("time_wait"));
    }
}
