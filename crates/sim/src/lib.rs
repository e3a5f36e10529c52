//! Virtual time: runs the TCP of `ackwise-tcp`, the links of `ackwise-link` and the behaviours of
//! `ackwise-http` from one event queue, unchanged.

mod queue;
