//! A server that refuses the client, because it has no certificate or not the right one. In TLS 1.3 the client is done by
//! then (RFC 8446, section 4.4.2.4), so its request crosses the alert and is nobody's wait: the session never came about.

use ackwise_cause::{Direction, Party};

use super::{Alert, First, Log, Tls, TlsEnd};

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

    /// The first that a server sends behind a client's certificate, where tickets or a response would be, may be an alert,
    /// and is the last.
    pub(in super::super) fn handle_refusal(&mut self, log: &mut Log) {
        let is_first = self.may_refuse(Direction::ToClient) && self.unsealed().is_none();
        if !is_first || !self.version_13 || self.end != TlsEnd::Done {
            return;
        }
        self.perhaps.clear();
        if let Some(mut handshake) = self.handshake.take() {
            handshake.end_flight(log);
        }
        self.end = refused(None);
    }

    /// An alert was opened. One that ends the handshake says why; so does a refusal.
    pub(super) fn note_opened_alert(&mut self, direction: Direction, description: Option<u8>) {
        let Some(said) = description else { return };
        match self.end {
            TlsEnd::Alert(_) => {
                let (by, refuses_client) = (direction.sender(), false);
                self.end = TlsEnd::Alert(Alert { by, description, refuses_client });
            }
            TlsEnd::Done if self.may_refuse(direction) && is_about_certificate(said) => {
                let answered = self.unsealed().is_some_and(|it| it.has_data(direction));
                if !answered {
                    self.end = refused(description);
                }
            }
            _ => {}
        }
    }
}

const fn refused(description: Option<u8>) -> TlsEnd {
    TlsEnd::Alert(Alert { by: Party::Server, description, refuses_client: true })
}

/// Whether an alert may be about a certificate (RFC 8446, section 6.2): handshake_failure, bad_certificate to
/// certificate_unknown, unknown_ca, access_denied, decrypt_error, certificate_required.
const fn is_about_certificate(description: u8) -> bool {
    matches!(description, 40 | 42..=46 | 48 | 49 | 51 | 116)
}
