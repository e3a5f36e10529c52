//! Which program has written what a store has. The commit does not count: it changes with documentation, too.

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Version and sources that decide what a row has.
#[cfg(feature = "parquet")]
pub(super) fn of_rows() -> String {
    format!("{VERSION}, sources {}", env!("ACKWISE_SOURCES"))
}

/// Version and sources that decide what the exchanges of a capture are.
#[cfg(feature = "parquet")]
pub(super) fn of_exchanges() -> String {
    format!("{VERSION}, sources of explain {}", env!("ACKWISE_EXPLAIN_SOURCES"))
}

/// Version and all sources that decide what a store has, for processes that fill one together.
#[must_use]
pub fn build() -> String {
    let sources = [env!("ACKWISE_SOURCES"), env!("ACKWISE_EXPLAIN_SOURCES")].join(" and ");
    format!("{VERSION}, sources {sources}")
}
