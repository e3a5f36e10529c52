//! Private network namespaces.
//!
//! A namespace created here has no name in `/run/netns`. It exists as long as a descriptor or a
//! thread refers to it, so the kernel removes it with its contents when the process ends, however
//! it ends.
//!
//! Not here: connections to the outside. Code that needs the outside runs there.

use std::{
    fs::{self, File},
    io,
    marker::PhantomData,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
};

use nix::{
    errno::Errno,
    sched::{CloneFlags, setns, unshare},
    unistd::{getegid, geteuid},
};

use crate::netlink::{self, Change};

/// A network namespace that contains only a loopback interface, which is up.
///
/// Creating one needs `CAP_SYS_ADMIN`; [`enter_private_network`] works without it.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

impl Namespace {
    /// Creates a new namespace. The calling thread stays in its own.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. The message names the missing permission.
    pub fn create() -> Result<Self, NamespaceError> {
        // `unshare` moves the calling thread, so a short-lived thread calls it.
        thread::scope(|scope| scope.spawn(Self::create_and_move).join())
            .expect("making a namespace does not panic")
    }

    /// The calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If `/proc` is not mounted.
    pub fn current() -> Result<Self, NamespaceError> {
        let handle = File::open("/proc/thread-self/ns/net").map_err(NamespaceError::Handle)?;
        Ok(Self { handle })
    }

    /// The namespace of a process.
    ///
    /// # Errors
    ///
    /// If there is no such process, or access is denied.
    pub fn of_process(process: u32) -> Result<Self, NamespaceError> {
        let handle = File::open(format!("/proc/{process}/ns/net"));
        let handle = handle.map_err(|error| NamespaceError::Process(process, error))?;
        Ok(Self { handle })
    }

    /// The namespace that a file stands for, such as `/run/netns/NAME`.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened. Whether it is a network namespace shows when it is entered.
    pub fn of_file(path: &Path) -> Result<Self, NamespaceError> {
        let handle = File::open(path);
        let handle = handle.map_err(|error| NamespaceError::File(path.to_owned(), error))?;
        Ok(Self { handle })
    }

    /// Moves the calling thread, and the threads and processes that it then starts, into the
    /// namespace until the guard is dropped.
    ///
    /// Sockets and devices stay in the namespace in which they were opened.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. The message names the missing permission.
    pub fn enter(&self) -> Result<Inside, NamespaceError> {
        let outer = Self::current()?;
        self.move_in()?;
        Ok(Inside { outer, _bound_to_thread: PhantomData })
    }

    /// Runs `work` in a thread inside the namespace.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. `work` has not run then.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let inside = || self.move_in().map(|()| work());
        thread::scope(|scope| match scope.spawn(inside).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Whether both refer to the same namespace.
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
        setns(&self.handle, CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
            Errno::EINVAL => NamespaceError::NotANamespace,
            errno => NamespaceError::Enter(errno.into()),
        })
    }
}

/// Guard of a thread inside a [`Namespace`]; dropping it moves the thread back.
#[derive(Debug)]
#[must_use = "dropping it leaves the namespace at once"]
pub struct Inside {
    outer: Namespace,
    /// Bound to the thread that entered, so it must not be `Send`.
    _bound_to_thread: PhantomData<*const ()>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Moving back needs no more permission than moving in. If it fails anyway, continuing in
        // the wrong network would be worse than a panic.
        self.outer.move_in().expect("the way back is open");
    }
}

/// Moves the whole process permanently into a private network, with or without root.
///
/// Call it at the beginning of `main`: the kernel creates a user namespace only for a process with
/// a single thread. The process keeps its user and group and gets all capabilities in the new
/// network, so [`Namespace::create`] and [`crate::TunDevice::open`] work afterwards. Programs that
/// it starts do not inherit the capabilities unless they run as root.
///
/// # Errors
///
/// If the kernel refuses. The message names the missing permission. The process has not moved then.
pub fn enter_private_network() -> Result<(), NamespaceError> {
    if geteuid().is_root() {
        return Namespace::create_and_move().map(drop);
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|errno| NamespaceError::CreateForUser(errno.into()))?;
    // user_namespaces(7): without root a process may map only its own user, and its group only
    // after disabling setgroups.
    let identity = |file: &str, map: String| fs::write(file, map).map_err(NamespaceError::Identity);
    identity("/proc/self/setgroups", "deny".into())?;
    identity("/proc/self/uid_map", format!("{user} {user} 1"))?;
    identity("/proc/self/gid_map", format!("{group} {group} 1"))?;
    netlink::change_link(LOOPBACK, Change::Up).map_err(NamespaceError::Loopback)
}

/// Why a namespace is not available. The host's settings are at fault, not the caller.
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
    /// The process's user and group could not be mapped into its new user namespace.
    #[error("cannot keep the user in the new namespace: {0}")]
    Identity(#[source] io::Error),
    /// `setns` failed.
    #[error("cannot enter the network namespace: {0} (run as root, or grant CAP_SYS_ADMIN)")]
    Enter(#[source] io::Error),
    /// The file of [`Namespace::of_file`] is another one, or stands for a namespace of another kind.
    #[error(
        "cannot enter the network namespace: the file is not one (expected one such as /run/netns/NAME)"
    )]
    NotANamespace,
    /// A descriptor of the namespace is not available.
    #[error("cannot hold the network namespace: {0} (expected /proc to be mounted)")]
    Handle(#[source] io::Error),
    /// A descriptor of a process's namespace is not available.
    #[error("{}", unreadable(*.0, .1))]
    Process(u32, #[source] io::Error),
    /// A file of a namespace cannot be opened.
    #[error("cannot open the network namespace {}: {_1}", _0.display())]
    File(PathBuf, #[source] io::Error),
    /// The loopback interface could not be set up.
    #[error("cannot bring the loopback interface up: {0}")]
    Loopback(#[source] io::Error),
}

fn unreadable(process: u32, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("process {process} does not exist"),
        _ => format!("cannot read the network namespace of process {process}: {error}"),
    }
}

/// Index of the loopback interface in every namespace: it is the first.
const LOOPBACK: u32 = 1;
