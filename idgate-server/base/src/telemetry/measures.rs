//! Measurements of the store and of limited resources, for the metrics.

/// The use of a limited resource.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Use {
    /// The amount in use.
    pub used: u64,
    /// The maximum.
    pub limit: u64,
}

impl Use {
    /// From a number of places, jobs or bytes.
    pub fn of(used: usize, limit: usize) -> Self {
        let number = |n| u64::try_from(n).unwrap_or(u64::MAX);
        Self { used: number(used), limit: number(limit) }
    }
}

/// The use of connections to a database in another process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PoolLoad {
    /// In use.
    pub busy: usize,
    /// Not in use.
    pub idle: usize,
    /// Requests that wait for one.
    pub waiting: usize,
    /// The maximum of connections, in use or not.
    pub limit: usize,
}

/// Sizes and ages, for alerts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    /// Results that are stored.
    pub claims_rows: u64,
    /// How long the erasure of the oldest due result is overdue, in milliseconds.
    pub purge_lag_ms: u64,
    /// The disk is full: only erasures are stored.
    pub disk_full: bool,
    /// Notifications that wait to be sent.
    pub webhook_queue: u64,
    /// How long the oldest waiting notification has waited, in milliseconds.
    pub webhook_oldest_ms: u64,
    /// Notifications that were given up.
    pub dead_letters: u64,
    /// The write-ahead logs, in bytes.
    pub wal_bytes: u64,
    /// How long the oldest audit entry without a checkpoint has waited for one, in milliseconds.
    pub audit_open_ms: u64,
    /// Use of the data directory's volume, if there is one.
    pub disk: Option<Use>,
    /// Writes that wait in this process.
    pub writes: Option<Use>,
    /// Reads that wait in this process.
    pub reads: Option<Use>,
}
