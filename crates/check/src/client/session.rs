//! TLS between TCP's bytes and HTTP's, at the server's end.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use rustls::{AlertDescription, Error, ServerConfig, ServerConnection};

/// One TLS session.
pub(super) struct Session(ServerConnection);

/// What bytes from the client led to.
pub(super) struct Opened {
    /// What HTTP has to read.
    pub(super) plain: Vec<u8>,
    /// What is to be sent.
    pub(super) records: Vec<u8>,
    /// Whether the handshake was still under way.
    pub(super) of_handshake: bool,
    /// Why the session is over.
    pub(super) error: Option<String>,
}

impl Session {
    pub(super) fn new(config: &Arc<ServerConfig>) -> Option<Self> {
        ServerConnection::new(Arc::clone(config)).ok().map(Self)
    }

    pub(super) fn open(&mut self, mut bytes: &[u8]) -> Opened {
        let of_handshake = self.0.is_handshaking();
        let mut plain = Vec::new();
        let mut error = None;
        while !bytes.is_empty() && error.is_none() {
            let read = self.0.read_tls(&mut bytes).map_err(|error| error.to_string());
            let taken =
                read.and_then(|_| self.0.process_new_packets().map_err(|error| in_words(&error)));
            error = taken.err();
            // It ends with an error that only says that nothing more is there.
            let _ = self.0.reader().read_to_end(&mut plain);
        }
        Opened { plain, records: self.outgoing(), of_handshake, error }
    }

    /// The records for `bytes`.
    pub(super) fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        // Its buffer takes a small response.
        let _ = self.0.writer().write_all(bytes);
        self.outgoing()
    }

    /// The records that end our direction.
    pub(super) fn close(&mut self) -> Vec<u8> {
        self.0.send_close_notify();
        self.outgoing()
    }

    fn outgoing(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        while self.0.wants_write() {
            if self.0.write_tls(&mut records).is_err() {
                break;
            }
        }
        records
    }
}

fn in_words(error: &Error) -> String {
    use AlertDescription::{BadCertificate, CertificateUnknown, UnknownCA};
    match error {
        Error::AlertReceived(alert @ (BadCertificate | CertificateUnknown | UnknownCA)) => format!(
            "it refuses the certificate (TLS alert {alert:?}): it does not use the CA from its environment; give \
             it the file of --ca-out"
        ),
        error => format!("TLS: {error}"),
    }
}
