//! The TCP sockets of other processes: which processes hold them, and their options.
//!
//! A socket is named by its inode, under which processes hold it, and its cookie, which the kernel never
//! gives to another socket; both come from the kernel's table ([`sockets`](crate::sockets)). A copy of a
//! descriptor (pidfd_getfd(2)) refers to the same socket, so an option set on the copy holds for the
//! process that owns the socket. Descriptors are reused, so every copy is compared with the cookie before
//! anything is done with it; that of an MPTCP socket with the inode, because the table has the cookies of its subflows.
//!
//! A copy keeps a socket open: while one of a listener exists, the port cannot be bound again, and while
//! one of a connection exists, `close` of its process sends no FIN and removes it from no epoll set, so that
//! the process can get events of a descriptor that it has closed (epoll(7)). Hold copies for microseconds.
//!
//! Needs `CAP_SYS_PTRACE`, and `CAP_DAC_READ_SEARCH` for processes of other users; Linux 5.6.

mod congestion;
mod holders;
mod kernel;
mod options;
mod processes;

use std::{io, mem::MaybeUninit};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};
use socket2::{Protocol, Socket};

pub use holders::{Holder, Holders, users_of};
pub use options::SocketOption;
pub use processes::Processes;

/// A copy of another process's descriptor of a TCP socket.
#[derive(Debug)]
pub struct ForeignSocket {
    copy: Socket,
}

impl ForeignSocket {
    /// Copies the descriptor of the first of `holders` that still has the socket with this cookie.
    ///
    /// # Errors
    ///
    /// If none has it any more, or the kernel refuses.
    pub fn copy(holders: &[Holder], cookie: u64) -> Result<Self, CopyError> {
        let mut last = CopyError::Gone;
        for holder in holders {
            match Self::copy_one(*holder, cookie) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn copy_one(holder: Holder, cookie: u64) -> Result<Self, CopyError> {
        let socket = Self::copy_of(holder)?;
        // A file or another socket may have the descriptor by now.
        let is_it = socket.copy.cookie().is_ok_and(|found| found == cookie)
            || socket.is_mptcp_of(holder.inode);
        if is_it { Ok(socket) } else { Err(CopyError::Gone) }
    }

    /// Whether it is the MPTCP socket with this inode. The kernel's table lists its subflows, which have its inode and cookies
    /// of their own, and passes options on to them.
    fn is_mptcp_of(&self, inode: u32) -> bool {
        let has_inode =
            || rustix::fs::fstat(&self.copy).is_ok_and(|it| it.st_ino == u64::from(inode));
        self.is_mptcp() && has_inode()
    }

    /// Whether it is an MPTCP socket, which may have other subflows than the one that was seen.
    #[must_use]
    pub fn is_mptcp(&self) -> bool {
        self.copy.protocol().is_ok_and(|it| it == Some(Protocol::MPTCP))
    }

    fn copy_of(holder: Holder) -> Result<Self, CopyError> {
        let process = i32::try_from(holder.process).ok().and_then(Pid::from_raw);
        let process = process.ok_or(CopyError::Gone)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        let copy = pidfd_getfd(&process, holder.descriptor, PidfdGetfdFlags::empty())?;
        Ok(Self { copy: Socket::from(copy) })
    }

    /// Reads an option.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, which it has no reason to.
    pub fn option(&self, option: SocketOption) -> io::Result<u32> {
        option.read(&self.copy)
    }

    /// Sets an option.
    ///
    /// # Errors
    ///
    /// If the kernel does not accept the value.
    pub fn set_option(&self, option: SocketOption, value: u32) -> io::Result<()> {
        option.set(&self.copy, value)
    }

    /// Whether something has arrived that the process has not read: data, or the peer's FIN.
    ///
    /// # Errors
    ///
    /// If the connection has failed.
    pub fn has_unread(&self) -> io::Result<bool> {
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        let mut byte = [MaybeUninit::uninit()];
        match rustix::net::recv(&self.copy, &mut byte, flags) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Has the process see the end of the stream after what has arrived, as if the peer had sent a FIN. What it writes
    /// is sent, so that a request that it has read is answered. The peer sees nothing.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    pub fn end_input(&self) -> io::Result<()> {
        self.copy.shutdown(std::net::Shutdown::Read)
    }

    /// Sends a FIN: the peer sees the end of the stream after what was written. What it sends still arrives.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    pub fn end_output(&self) -> io::Result<()> {
        self.copy.shutdown(std::net::Shutdown::Write)
    }

    /// Closes both directions, in an orderly way: the peer sees a FIN, the process the end of the stream.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    pub fn shut_down(&self) -> io::Result<()> {
        self.copy.shutdown(std::net::Shutdown::Both)
    }
}

/// Why a descriptor could not be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The process or the socket is gone, or the descriptor refers to something else by now.
    #[error("the socket is gone")]
    Gone,
    /// The kernel has no `pidfd_getfd`, or a seccomp filter forbids it.
    #[error("this kernel has no pidfd_getfd (expected Linux 5.6 or later)")]
    NoPidfdGetfd,
    /// The process may not be looked into.
    #[error("permission denied (expected root, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH)")]
    Denied,
    /// Something else.
    #[error("cannot copy a descriptor of another process: {0}")]
    Kernel(#[source] io::Error),
}

impl From<Errno> for CopyError {
    /// pidfd_open(2), pidfd_getfd(2).
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::SRCH | Errno::BADF => Self::Gone,
            Errno::NOSYS => Self::NoPidfdGetfd,
            Errno::PERM | Errno::ACCESS => Self::Denied,
            errno => Self::Kernel(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        io::{Read, Write},
        net::{SocketAddr, TcpListener, TcpStream},
        os::fd::{AsFd, AsRawFd},
        process::{Command, Stdio},
    };

    use ackwise_tcp::State;
    use socket2::{Domain, Type};

    use super::*;
    use crate::sockets::{Query, SocketTable, TcpSocket};
    use ackwise_testing::skip;

    fn listener_of(port: u16) -> TcpSocket {
        let mut found = Vec::new();
        let query = Query::local_port(port).in_states(&[State::Listen]);
        SocketTable::here().unwrap().each(query, |socket| found.push(*socket)).unwrap();
        let [socket] = found[..] else { panic!("one listener: {found:?}") };
        socket
    }

    /// Whether this process may copy another one's descriptors; also in a container.
    fn is_allowed(test: &str) -> bool {
        let root = nix::unistd::geteuid().is_root();
        if !root {
            skip(test, "root, to copy descriptors of other processes; run as root");
        }
        root
    }

    #[test]
    fn options_of_a_socket_that_two_processes_share_are_read_and_set() {
        if !is_allowed("options_of_a_socket_that_two_processes_share_are_read_and_set") {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // The child holds the same socket as its standard input, and has one of its own beside it.
        let stdin = Stdio::from(listener.as_fd().try_clone_to_owned().unwrap());
        let mut child = Command::new("sleep").arg("20").stdin(stdin).spawn().unwrap();
        let known = listener_of(port);
        let inodes = BTreeSet::from([known.inode]);
        let holders = Holders::of(&inodes);
        let mut processes = [std::process::id(), child.id()];
        processes.sort_unstable();
        assert_eq!(holders.processes(known.inode), processes);
        let of_child = Holders::among(&[child.id()], &inodes);
        let held = of_child.of_inode(known.inode);
        assert_eq!(held, [Holder { inode: known.inode, process: child.id(), descriptor: 0 }]);

        let socket = ForeignSocket::copy(held, known.cookie).unwrap();
        for (option, value) in [(SocketOption::NoDelay, 1), (SocketOption::NotSentLowat, 20_000)] {
            assert_eq!(socket.option(option).unwrap(), 0);
            socket.set_option(option, value).unwrap();
            assert_eq!(option.read(&listener.try_clone().unwrap().into()).unwrap(), value);
        }
        // A size that is set stops autotuning, until the lock is cleared.
        for (option, lock) in [(SocketOption::SendBuffer, 1), (SocketOption::ReceiveBuffer, 3)] {
            socket.set_option(option, 60_000).unwrap();
            assert_eq!(socket.option(option).unwrap(), 60_000);
            assert_eq!(socket.option(SocketOption::BufferLock).unwrap(), lock);
        }
        socket.set_option(SocketOption::BufferLock, 0).unwrap();
        assert_eq!(socket.option(SocketOption::BufferLock).unwrap(), 0);
        drop(socket);
        // What it accepts inherits both.
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let accepted = listener.accept().unwrap().0;
        assert!(accepted.nodelay().unwrap());
        drop((client, accepted));

        child.kill().unwrap();
        child.wait().unwrap();
        let gone = ForeignSocket::copy(held, known.cookie);
        assert!(matches!(gone, Err(CopyError::Gone)), "{gone:?}");
    }

    /// Go programs listen so since Go 1.24. A client without MPTCP gets a TCP socket, which inherits from the subflow that listens.
    #[test]
    fn an_mptcp_listener_passes_options_on_to_what_it_accepts() {
        let test = "an_mptcp_listener_passes_options_on_to_what_it_accepts";
        if !is_allowed(test) {
            return;
        }
        let Ok(socket) = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)) else {
            skip(test, "a kernel with MPTCP; sysctl net.mptcp.enabled=1");
            return;
        };
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(10).unwrap();
        let listener = TcpListener::from(socket);
        let port = listener.local_addr().unwrap().port();
        let known = listener_of(port);
        let holders = Holders::of(&BTreeSet::from([known.inode]));
        let copy = ForeignSocket::copy(holders.of_inode(known.inode), known.cookie).unwrap();
        assert!(copy.is_mptcp());
        assert_eq!(copy.option(SocketOption::NoDelay).unwrap(), 0);
        copy.set_option(SocketOption::NoDelay, 1).unwrap();
        drop(copy);
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert!(listener.accept().unwrap().0.nodelay().unwrap());
        drop(client);
        // Another socket's descriptor is not taken for it.
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let (inode, process) = (known.inode, std::process::id());
        let reused = [Holder { inode, process, descriptor: other.as_raw_fd() }];
        assert!(matches!(ForeignSocket::copy(&reused, known.cookie), Err(CopyError::Gone)));
    }

    #[test]
    fn a_descriptor_that_was_reused_is_not_taken_for_the_socket() {
        if !is_allowed("a_descriptor_that_was_reused_is_not_taken_for_the_socket") {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let known = listener_of(listener.local_addr().unwrap().port());
        let descriptor = listener.as_raw_fd();
        let (inode, process) = (known.inode, std::process::id());
        let holders = [Holder { inode, process, descriptor }];
        assert!(ForeignSocket::copy(&holders, known.cookie).is_ok());
        let other = ForeignSocket::copy(&holders, known.cookie + 1);
        assert!(matches!(other, Err(CopyError::Gone)), "{other:?}");
        // Standard input is no socket at all.
        let none = [Holder { inode, process, descriptor: 0 }];
        assert!(matches!(ForeignSocket::copy(&none, known.cookie), Err(CopyError::Gone)));
    }

    #[test]
    fn shutting_down_sends_a_fin_and_what_is_unread_shows() {
        if !is_allowed("shutting_down_sends_a_fin_and_what_is_unread_shows") {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut found = Vec::new();
        let query = Query::local_port(port).in_states(&[State::Established]);
        SocketTable::here().unwrap().each(query, |socket| found.push(*socket)).unwrap();
        let [known] = found[..] else { panic!("one connection: {found:?}") };
        let holders = Holders::of(&BTreeSet::from([known.inode]));
        let socket = ForeignSocket::copy(holders.of_inode(known.inode), known.cookie).unwrap();
        assert!(!socket.has_unread().unwrap());
        client.write_all(b"x").unwrap();
        let mut waited = 0;
        while !socket.has_unread().unwrap() && waited < 1_000 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            waited += 1;
        }
        assert!(socket.has_unread().unwrap());
        server.read_exact(&mut [0]).unwrap();
        assert!(!socket.has_unread().unwrap());
        socket.shut_down().unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        assert_eq!(server.read(&mut [0]).unwrap(), 0);
        drop((socket, server));
        // Data that crosses the FIN is answered by RST, and the socket is gone without TIME-WAIT.
        let mut table = SocketTable::here().unwrap();
        let mut state = || table.one(&known, query).unwrap().map(|it| it.state);
        let mut waited = 0;
        while state() == Some(State::FinWait1) && waited < 1_000 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            waited += 1;
        }
        assert_eq!(state(), Some(State::FinWait2));
        client.write_all(b"request").unwrap();
        assert_eq!(state(), None);
    }
}
