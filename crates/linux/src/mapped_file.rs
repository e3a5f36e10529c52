//! A file mapped into memory, whose bytes only the kernel reads: they are sent, and never looked at here.
//!
//! Rust cannot have a `&[u8]` of a mapping, because whoever may write to the file
//! changes the bytes behind it, and because a file that shrinks turns a read into SIGBUS. So no reference to the
//! mapping is ever made: its address goes to `sendmsg`, and what is gone is EFAULT there (the kernel copies with
//! `copy_from_user`, which does not fault).
//!
//! Not here: reading, writing, and parts of a file; a mapping is of the whole file.

#![expect(
    unsafe_code,
    reason = "mmap, munmap and sendmsg have no safe form for memory that others may change"
)]

use std::{
    fs::File,
    io::{self, IoSlice},
    mem,
    ops::Range,
    os::fd::{AsFd, AsRawFd},
    ptr::{self, NonNull},
};

use nix::libc;

/// A mapping of a file as long as it was then.
#[derive(Debug)]
pub struct MappedFile {
    start: NonNull<libc::c_void>,
    length: usize,
}

impl MappedFile {
    /// Maps the first `length` bytes of `file`, to be read.
    ///
    /// # Errors
    ///
    /// If `length` is 0 or more than the address space has, or the file cannot be mapped.
    pub fn new(file: &File, length: u64) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: The kernel chooses the address (null, and no MAP_FIXED), so no mapping of this process is replaced.
        let start = unsafe {
            let (access, kind) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(ptr::null_mut(), length, access, kind, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, length })
    }

    /// Sends `before`, then the bytes of the file in `range`, with one call (sendmsg). Returns how many bytes the
    /// kernel took.
    ///
    /// # Errors
    ///
    /// EFAULT if the file has shrunk and has no page at the beginning of `range` any more; `InvalidInput` if `range`
    /// is not within the mapping; otherwise those of sendmsg(2).
    pub fn send(
        &self,
        socket: impl AsFd,
        before: &[IoSlice<'_>],
        range: Range<usize>,
        flags: i32,
    ) -> io::Result<usize> {
        if range.start > range.end || range.end > self.length {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut parts: Vec<libc::iovec> = before
            .iter()
            .map(|slice| libc::iovec {
                iov_base: slice.as_ptr().cast_mut().cast(),
                iov_len: slice.len(),
            })
            .collect();
        parts.push(libc::iovec {
            iov_base: self.start.as_ptr().wrapping_byte_add(range.start),
            iov_len: range.len(),
        });
        // SAFETY: All fields of a msghdr are integers and pointers, for which zero is valid.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        // SAFETY: `message` points to `parts`, which live until after the call, and they to memory that does, too:
        // `before` is borrowed, and the mapping ends with `self`. sendmsg only reads it.
        let sent = unsafe {
            libc::sendmsg(
                socket.as_fd().as_raw_fd(),
                &raw const message,
                flags | libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

// SAFETY: A mapping belongs to the process: any thread may pass its address to the kernel, and remove it.
unsafe impl Send for MappedFile {}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this, nothing else unmaps it, and no reference to it exists.
        let result = unsafe { libc::munmap(self.start.as_ptr(), self.length) };
        debug_assert_eq!(result, 0, "a mapping of this process can be removed");
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::Read,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    const PAGE: usize = 4096;

    /// A file of three pages of 7, mapped; a connection; what its other end receives.
    fn mapped(test: impl FnOnce(&File, &MappedFile, TcpStream)) -> Vec<u8> {
        let of = (std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(format!("ackwise-mapped-{of:?}"));
        fs::write(&path, [7; 3 * PAGE]).unwrap();
        let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mapping = MappedFile::new(&file, 3 * PAGE as u64).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        test(&file, &mapping, sender);
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).unwrap();
        received
    }

    #[test]
    fn a_head_and_part_of_the_file_leave_in_one_call() {
        let received = mapped(|_, mapping, sender| {
            let head = [IoSlice::new(b"he"), IoSlice::new(b"ad")];
            assert_eq!(mapping.send(&sender, &head, 1..2 * PAGE, 0).unwrap(), 2 * PAGE + 3);
        });
        assert_eq!(received[..4], *b"head");
        assert_eq!(received[4..], [7; 2 * PAGE - 1]);
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_no_signal() {
        let received = mapped(|file, mapping, sender| {
            file.set_len(PAGE as u64).unwrap();
            let fault = |range| mapping.send(&sender, &[], range, 0).unwrap_err().raw_os_error();
            // What is copied for one packet is copied as a whole or not at all.
            assert_eq!(fault(0..3 * PAGE), Some(libc::EFAULT));
            assert_eq!(mapping.send(&sender, &[], 0..PAGE, 0).unwrap(), PAGE);
            assert_eq!(fault(PAGE..3 * PAGE), Some(libc::EFAULT));
            file.set_len(0).unwrap();
            assert_eq!(fault(0..PAGE), Some(libc::EFAULT));
        });
        assert_eq!(received, [7; PAGE]);
    }

    #[test]
    fn nothing_outside_of_the_mapping_is_sent() {
        mapped(|_, mapping, sender| {
            let backwards = Range { start: 5, end: 4 };
            for range in [0..3 * PAGE + 1, 3 * PAGE + 1..3 * PAGE + 2, backwards] {
                let refused = mapping.send(&sender, &[], range, 0).unwrap_err();
                assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
            }
        });
    }

    #[test]
    fn an_empty_file_cannot_be_mapped() {
        let null = File::open("/dev/null").unwrap();
        assert!(MappedFile::new(&null, 0).is_err());
        assert!(MappedFile::new(&null, u64::MAX).is_err());
    }
}
