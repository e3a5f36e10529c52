//! `check` with the kernel's TCP against the built-in server on loopback: what it must find, and what
//! it must not.
//!
//! Stalls are Linux's; elsewhere only the errors are tested.

#[cfg(target_os = "linux")]
mod accept_queue;
#[cfg(target_os = "linux")]
mod behind;
#[cfg(target_os = "linux")]
mod cork;
#[cfg(target_os = "linux")]
mod early_response;
mod errors;
#[cfg(target_os = "linux")]
mod far;
#[cfg(target_os = "linux")]
mod findings;
#[cfg(target_os = "linux")]
mod first_byte;
#[cfg(target_os = "linux")]
mod http2;
#[cfg(target_os = "linux")]
mod one_worker;
#[cfg(target_os = "linux")]
mod patterns;
#[cfg(target_os = "linux")]
mod remedies;
#[cfg(target_os = "linux")]
mod response_pause;
mod server;
#[cfg(target_os = "linux")]
mod split_request;
