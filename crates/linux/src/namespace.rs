//! A network of our own.
//!
//! A namespace made here has no name in `/run/netns`: it lives as long as a descriptor or a thread
//! holds it, so the kernel removes it with everything inside when the process ends, however it ends.
//!
//! What it does not do: connect the namespace to the outside. Whoever needs the outside works there.

use std::{
    fs::{self, File},
    io,
    marker::PhantomData,
    os::unix::fs::MetadataExt,
    thread,
};

use nix::{
    sched::{CloneFlags, setns, unshare},
    unistd::{getegid, geteuid},
};

use crate::netlink::{self, Change};

/// A network namespace with nothing in it but a loopback interface that is up.
///
/// Making one needs `CAP_SYS_ADMIN`; [`enter_private_network`] is the way without.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

impl Namespace {
    /// Makes a new namespace. The calling thread stays where it is.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; the message says what to grant.
    pub fn create() -> Result<Self, NamespaceError> {
        // `unshare` moves the thread that calls it, so a thread that ends at once makes it.
        thread::scope(|scope| scope.spawn(Self::create_and_move).join())
            .expect("making a namespace does not panic")
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    ///
    /// If `/proc` is not mounted.
    pub fn current() -> Result<Self, NamespaceError> {
        let handle = File::open("/proc/thread-self/ns/net").map_err(NamespaceError::Handle)?;
        Ok(Self { handle })
    }

    /// The namespace in which a process is.
    ///
    /// # Errors
    ///
    /// If there is no such process, or it may not be looked at.
    pub fn of_process(process: u32) -> Result<Self, NamespaceError> {
        let handle = File::open(format!("/proc/{process}/ns/net"));
        let handle = handle.map_err(|error| NamespaceError::Process(process, error))?;
        Ok(Self { handle })
    }

    /// Moves the calling thread, and the threads and processes that it starts from now on, into the
    /// namespace, until the guard is dropped.
    ///
    /// Sockets and devices stay in the namespace that they were opened in.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; the message says what to grant.
    pub fn enter(&self) -> Result<Inside, NamespaceError> {
        let outer = Self::current()?;
        self.move_in()?;
        Ok(Inside { outer, _bound_to_thread: PhantomData })
    }

    /// Runs `work` in a thread inside the namespace.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; `work` has not run then.
    ///
    /// # Panics
    ///
    /// If `work` does.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let inside = || self.move_in().map(|()| work());
        thread::scope(|scope| match scope.spawn(inside).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Whether both are handles of one namespace.
    pub(crate) fn is_same(&self, other: &Self) -> io::Result<bool> {
        let (one, other) = (self.handle.metadata()?, other.handle.metadata()?);
        Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
    }

    fn create_and_move() -> Result<Self, NamespaceError> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| NamespaceError::Create(errno.into()))?;
        netlink::change_link(LOOPBACK, Change::Up).map_err(NamespaceError::Loopback)?;
        Self::current()
    }

    fn move_in(&self) -> Result<(), NamespaceError> {
        setns(&self.handle, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| NamespaceError::Enter(errno.into()))
    }
}

/// The calling thread is inside a [`Namespace`]; dropping this moves it back.
#[derive(Debug)]
#[must_use = "dropping it leaves the namespace at once"]
pub struct Inside {
    outer: Namespace,
    /// Belongs to the thread that entered, so it must not be sent to another.
    _bound_to_thread: PhantomData<*const ()>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        // It was possible to come here from there, with the same rights; if it fails all the same,
        // going on in the wrong network would be worse than stopping.
        self.outer.move_in().expect("the way back is open");
    }
}

/// Moves the whole process into a network of its own, with or without root, for good.
///
/// For the beginning of `main`: the kernel makes a user namespace only for a process with a single
/// thread. The process keeps its user and group; within the new network it may do everything, so
/// [`Namespace::create`] and [`crate::TunDevice::open`] work afterwards. Programs that it starts have no
/// such rights unless they run as root.
///
/// # Errors
///
/// If the kernel refuses; the message says what to grant. The process has not moved then.
pub fn enter_private_network() -> Result<(), NamespaceError> {
    if geteuid().is_root() {
        return Namespace::create_and_move().map(drop);
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|errno| NamespaceError::CreateForUser(errno.into()))?;
    // user_namespaces(7): who is not root may map only itself, and its group only without setgroups.
    let identity = |file: &str, map: String| fs::write(file, map).map_err(NamespaceError::Identity);
    identity("/proc/self/setgroups", "deny".into())?;
    identity("/proc/self/uid_map", format!("{user} {user} 1"))?;
    identity("/proc/self/gid_map", format!("{group} {group} 1"))?;
    netlink::change_link(LOOPBACK, Change::Up).map_err(NamespaceError::Loopback)
}

/// Why there is no network of our own. The host's settings are at fault, not the caller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// `unshare(CLONE_NEWNET)` failed.
    #[error("cannot create a network namespace: {0} (run as root, or grant CAP_SYS_ADMIN)")]
    Create(#[source] io::Error),
    /// `unshare(CLONE_NEWUSER | CLONE_NEWNET)` failed.
    #[error(
        "cannot make a network namespace without root: {0}; run as root, or allow user namespaces \
         (sysctl user.max_user_namespaces above 0; on Debian kernel.unprivileged_userns_clone=1, on \
         Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), before any thread is started"
    )]
    CreateForUser(#[source] io::Error),
    /// The identity of the process could not be carried into its new user namespace.
    #[error("cannot keep the user in the new namespace: {0}")]
    Identity(#[source] io::Error),
    /// `setns` failed.
    #[error("cannot enter the network namespace: {0} (run as root, or grant CAP_SYS_ADMIN)")]
    Enter(#[source] io::Error),
    /// There is no descriptor of the namespace to be had.
    #[error("cannot hold the network namespace: {0} (expected /proc to be mounted)")]
    Handle(#[source] io::Error),
    /// There is no descriptor of a process' namespace to be had.
    #[error("{}", unreadable(*.0, .1))]
    Process(u32, #[source] io::Error),
    /// The loopback interface stayed down.
    #[error("cannot bring the loopback interface up: {0}")]
    Loopback(#[source] io::Error),
}

fn unreadable(process: u32, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("process {process} does not exist"),
        _ => format!("cannot read the network namespace of process {process}: {error}"),
    }
}

/// Number of the loopback interface in every namespace: it is the first.
const LOOPBACK: u32 = 1;
