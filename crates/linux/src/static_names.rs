//! Names of hosts in a program that is linked with glibc statically.
//!
//! glibc loads what `/etc/nsswitch.conf` names (`resolve`, `myhostname`, `mdns4`) as shared objects, also into a static
//! program, and these expect the glibc that they were built with: on Debian 13, the first lookup ends with SIGFPE. So a
//! static program asks `/etc/hosts` and the DNS only, which are part of glibc since 2.34. Elsewhere, nothing is done.

#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
#[expect(unsafe_code, reason = "glibc has no other way to say which services are asked")]
mod glibc {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        /// `<nss.h>`: which services are asked for a database, whatever nsswitch.conf says.
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    pub(super) fn configure() {
        // SAFETY: both arguments are strings that end with NUL, live for ever, and are only read; no other thread runs
        // yet that could look a name up.
        let _ = unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
    }
}

/// Keeps lookups to files and DNS where the program is static. To be called before the first lookup, at the
/// beginning of `main`.
pub fn configure() {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    glibc::configure();
}
