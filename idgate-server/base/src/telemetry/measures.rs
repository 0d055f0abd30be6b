//! What is measured of a store and of what there is only so much of, as the metrics take it.

/// How much is used of what there is only so much of.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Use {
    /// So much of it.
    pub used: u64,
    /// There is no more.
    pub limit: u64,
}

impl Use {
    /// Of places, jobs or bytes in memory.
    pub fn of(used: usize, limit: usize) -> Self {
        let number = |n| u64::try_from(n).unwrap_or(u64::MAX);
        Self { used: number(used), limit: number(limit) }
    }
}

/// The connections to a database that is not in this process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PoolLoad {
    /// In use.
    pub busy: usize,
    /// Not in use.
    pub idle: usize,
    /// Requests that wait for one.
    pub waiting: usize,
    /// There are no more, in use or not.
    pub limit: usize,
}

/// Sizes and ages, for alerts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    /// Results that are stored.
    pub claims_rows: u64,
    /// How long the result that should have gone first is overdue, in milliseconds.
    pub purge_lag_ms: u64,
    /// Nothing is stored but what erases.
    pub disk_full: bool,
    /// Notifications that wait to be sent.
    pub webhook_queue: u64,
    /// How long the oldest of them has waited, in milliseconds.
    pub webhook_oldest_ms: u64,
    /// Notifications that were given up.
    pub dead_letters: u64,
    /// The write-ahead logs, in bytes.
    pub wal_bytes: u64,
    /// How long the oldest audit entry without a checkpoint has waited for one, in milliseconds.
    pub audit_open_ms: u64,
    /// Bytes of the volume of the data directory, where there is one.
    pub disk: Option<Use>,
    /// Writes that wait in this process.
    pub writes: Option<Use>,
    /// Reads that do.
    pub reads: Option<Use>,
}
