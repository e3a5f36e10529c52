//! Attempts to connect that bring no connection.

use ackwise_cause::{ConnectOutcome, Party};

use super::Ends;

impl Ends {
    /// How the attempt to connect ended, if it brought no connection. A lone SYN may be the end of the capture. A client
    /// resets what answers for an old connection (RFC 9293, section 3.5.2).
    pub(crate) fn connect(&self, closed_first: Option<Party>) -> Option<ConnectOutcome> {
        let [to_server, to_client] = &self.halves;
        let [asked, answered] = [to_server, to_client].map(|it| it.stream.shift().is_some());
        let is_silent = self.halves.iter().all(|it| it.longest_run == 0 && it.fin.is_none());
        if !asked || !is_silent {
            return None;
        }
        let is_open = to_server.pure_acks > 0;
        match (closed_first.filter(|_| self.reset), to_client.packets) {
            (None, 0) if to_server.packets > 1 && !is_open => Some(ConnectOutcome::Unanswered),
            (Some(Party::Server), _) if answered => Some(ConnectOutcome::Reset),
            (Some(Party::Server), _) if !is_open => Some(ConnectOutcome::Refused),
            // RFC 9293, section 3.10.7.1: so answers who has no such connection, and not who ends one.
            (Some(Party::Client), _) if answered && !is_open && self.bare_reset => {
                Some(ConnectOutcome::Abandoned)
            }
            (Some(Party::Client), 1..) if !answered && !is_open => Some(ConnectOutcome::Collided),
            _ => None,
        }
    }
}
