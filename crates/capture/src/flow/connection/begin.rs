//! How a connection begins: as a newcomer, whose first segments are judged now, in the memory of another one.

use std::net::{IpAddr, SocketAddr};

use ackwise_tcp::Instant;

use super::{
    AgainElsewhere, Closing, EarlierEnd, Ends, ExchangeReader, HeardByServer, ObservedConnection,
    ServerHabits, Setup, Tunnels,
};
use crate::{
    attribution::Paces,
    flow::{newcomer::Newcomer, open::OpenExchanges},
    results::Results,
    work::Work,
};

impl Default for ObservedConnection {
    fn default() -> Self {
        let nobody = SocketAddr::from(([0; 4], 0));
        Self {
            id: 0,
            client: nobody,
            server: nobody,
            client_is_first: true,
            ends: Ends::default(),
            measures: None,
            reassembly: Default::default(),
            conversation: ExchangeReader::new(),
            setup: Setup::default(),
            open: OpenExchanges::default(),
            deferred: Vec::new(),
            earlier_end: EarlierEnd::default(),
            closed_at: None,
            protocol: None,
            tunnels: Tunnels::default(),
            flow_control: Default::default(),
            departure: None,
            held_segment: None,
            held_requests: None,
            goaway: None,
            multiplexed: None,
            habits: ServerHabits::default(),
            unsettled: Default::default(),
            undecided: [None, None],
            behind_hole: None,
            heard_by_server: HeardByServer::default(),
            cut: [0; 2],
            initial: None,
            lingering: None,
            shutdowns: [None, None],
            closed_ends: [false; 2],
            exchanges: 0,
            closed_first: None,
            server_closed: None,
            client_closed: None,
            answered_from: 0,
            answered_in: 0,
            ends_now: None,
            closing: Closing::default(),
            first_seen: Instant::EPOCH,
            here: None,
            last_seen: Instant::EPOCH,
            clock_steps: 0,
            again_elsewhere: AgainElsewhere::default(),
            hop_limits: Default::default(),
            series: None,
            work: Work::default(),
            held_beside: 0,
            touched: 0,
            charged: 0,
            spared: false,
        }
    }
}

impl ObservedConnection {
    /// Becomes what `newcomer` was, after another one that is over. What was put off is judged, now that the path is
    /// known as well as it can be.
    pub(crate) fn begin(&mut self, newcomer: &Newcomer, known: &Paces, results: &mut Results) {
        let Newcomer {
            id,
            client,
            server,
            client_is_first,
            warm_up,
            survey,
            told: _,
            teardown: _,
            initial,
            closing,
            first_seen,
            here,
            again_elsewhere,
            hop_limits,
            touched,
            charged: _,
            spared,
        } = newcomer;
        (self.id, self.client, self.server, self.initial) = (*id, *client, *server, *initial);
        self.client_is_first = *client_is_first;
        (self.closing, self.again_elsewhere) = (*closing, *again_elsewhere);
        (self.first_seen, self.last_seen) = (*first_seen, *first_seen);
        (self.here, self.hop_limits) = (*here, *hop_limits);
        (self.touched, self.spared) = (*touched, *spared);
        if let Some(budget) = &results.budget {
            self.keep_series(budget.stretches_per_exchange());
        }
        if results.keeps_measures {
            self.keep_measures();
        }
        self.ends.switch_off(results.without);
        if let Some(keys) = &results.keys {
            self.conversation.use_keys(keys);
        }
        if let Some(survey) = survey {
            self.ends.learn(survey, known);
        }
        let hosts = [self.client.ip(), self.server.ip()];
        if hosts[0] == hosts[1] || hosts.iter().all(IpAddr::is_loopback) {
            self.ends.distances.begin_on_one_host();
        }
        for (packet, direction) in warm_up.packets() {
            self.judge(&packet, direction, results);
        }
    }

    /// As new, with the memory of its queues. Field by field: a whole one would have to be copied.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub(super) fn forget(&mut self) {
        let Self {
            id: _,
            client: _,
            server: _,
            client_is_first: _,
            ends,
            measures,
            reassembly,
            conversation,
            setup,
            open,
            deferred,
            earlier_end,
            closed_at,
            protocol,
            tunnels,
            flow_control,
            departure,
            held_segment,
            held_requests,
            goaway,
            multiplexed,
            habits,
            unsettled,
            undecided,
            behind_hole,
            heard_by_server,
            cut,
            initial: _,
            lingering,
            shutdowns,
            closed_ends,
            exchanges,
            closed_first,
            server_closed,
            client_closed,
            answered_from,
            answered_in,
            ends_now,
            closing: _,
            first_seen: _,
            here: _,
            last_seen: _,
            clock_steps,
            again_elsewhere: _,
            hop_limits: _,
            series,
            work,
            held_beside,
            touched: _,
            charged,
            spared: _,
        } = self;
        ends.forget();
        (*measures, *series, *lingering) = (None, None, None);
        (*reassembly, *unsettled, *shutdowns, *closed_ends) = Default::default();
        *undecided = [None, None];
        conversation.forget();
        *setup = Setup::default();
        open.clear();
        *deferred = Vec::new();
        (*earlier_end, *heard_by_server) = Default::default();
        (*closed_at, *protocol, *behind_hole, *closed_first) = (None, None, None, None);
        (*server_closed, *client_closed, *ends_now) = (None, None, None);
        (*answered_from, *answered_in) = (0, 0);
        *tunnels = Tunnels::default();
        (*flow_control, *habits) = Default::default();
        (*departure, *held_segment, *held_requests) = (None, None, None);
        (*goaway, *multiplexed) = (None, None);
        (*cut, *exchanges, *clock_steps, *charged) = ([0; 2], 0, 0, 0);
        (*work, *held_beside) = (Work::default(), 0);
    }
}
