//! A server that refuses the client, because it has no certificate or not the right one. In TLS 1.3 the client is done by
//! then (RFC 8446, section 4.4.2.4), so its request crosses the alert and is nobody's wait: the session never came about.

use ackwise_cause::{Direction, Party};

use super::{Alert, First, Kind, Log, Opening, Tls, TlsEnd, unsealed};

impl Tls {
    /// Whether the server's next record, if it may be an alert, may refuse the client.
    pub(super) const fn may_refuse(&self, direction: Direction) -> bool {
        matches!(direction, Direction::ToClient)
            && self.has_certificate()
            && matches!(self.first, First::Nothing)
    }

    const fn has_certificate(&self) -> bool {
        match &self.handshake {
            // The server may have ended it, with what comes now.
            Some(handshake) => handshake.has_client_certificate(),
            None => self.is_certified,
        }
    }

    /// What comes last of a direction is passed over: an alert, or what may be one. The first that a server sends behind a
    /// client's certificate, where tickets or a response would be, is a refusal.
    pub(in super::super) fn handle_last(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        log: &mut Log,
    ) {
        if direction == Direction::ToServer || !self.version_13 || self.end != TlsEnd::Done {
            return;
        }
        let (description, is_first) = match &self.inside {
            Opening::Unsealed(it) if it.is_confirmed() => {
                let payload = bytes.get(HEADER..).unwrap_or_default();
                let opened = it.peek(direction, 0, Kind::ApplicationData, payload);
                (
                    opened.filter(|it| it.0 == unsealed::ALERT).map(|it| it.1[1]),
                    !it.has_data(direction),
                )
            }
            _ => (None, matches!(self.first, First::Nothing)),
        };
        let is_refused = match description {
            Some(CLOSE_NOTIFY | USER_CANCELED) => false,
            Some(_) => true,
            None => self.has_certificate(),
        };
        if is_first && is_refused {
            self.perhaps.clear();
            if let Some(mut handshake) = self.handshake.take() {
                handshake.end_flight(true, log);
            }
            self.end =
                TlsEnd::Alert(Alert { by: Party::Server, description, refuses_client: true });
        }
    }
}

/// Alerts that are no errors (RFC 8446, section 6.1).
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// Bytes of a record's header.
const HEADER: usize = 5;
