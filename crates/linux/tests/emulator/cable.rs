//! Two namespaces and an emulated link between them.

use std::net::{SocketAddr, TcpListener, TcpStream};

use ackwise_linux::{
    Emulator, Namespace, NamespaceError,
    emulator::{EmulatorError, EmulatorOptions},
};
use ackwise_testing::skip;

pub(crate) struct Cable {
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    pub(crate) emulator: Emulator,
}

impl Cable {
    /// Runs `test` with a link between two new namespaces, or skips it.
    pub(crate) fn with(name: &str, options: EmulatorOptions, test: impl FnOnce(Self)) {
        match Self::new(&options) {
            Ok(cable) => test(cable),
            Err(missing) => skip(name, missing),
        }
    }

    fn new(options: &EmulatorOptions) -> Result<Self, EmulatorError> {
        let (client, server) = (Namespace::create()?, Namespace::create()?);
        let emulator = Emulator::between(&client, &server, options)?;
        Ok(Self { client, server, emulator })
    }

    /// A listener in the server's namespace.
    pub(crate) fn listen(&self) -> (TcpListener, SocketAddr) {
        let address = (self.emulator.server_address(), 0);
        let listener = self.server.run(|| TcpListener::bind(address)).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// A connection: the client's socket and the server's.
    pub(crate) fn connect(&self) -> (TcpStream, TcpStream) {
        let (listener, address) = self.listen();
        let client = self.client.run(|| TcpStream::connect(address)).unwrap().unwrap();
        (client, listener.accept().unwrap().0)
    }
}

/// Two new namespaces, or `None` after reporting the skip.
pub(crate) fn namespaces(name: &str) -> Option<(Namespace, Namespace)> {
    let both = || Ok::<_, NamespaceError>((Namespace::create()?, Namespace::create()?));
    both().map_err(|missing| skip(name, missing)).ok()
}
