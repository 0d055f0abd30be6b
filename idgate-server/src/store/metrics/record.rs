//! Counting settled sessions in the transaction that settles them, once per group of jobs.

use std::collections::BTreeMap;

use idgate_core::session::{Session, Settlement, Status};
use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::{Outcomes, StoreError};
use super::super::sql::number;
use super::hour_of;
use crate::limits::MAX_COUNTED_TYPES;
use crate::sketch::Sketch;

/// More hours than any window has, the running one included.
pub(in crate::store) const KEPT_HOURS: i64 = 722;
/// What further types are counted as.
pub(in crate::store) const OTHER_TYPES: &str = "other";

/// A session as it is counted.
#[derive(Clone, Debug)]
pub(in crate::store) struct Measured {
    pub(in crate::store) livemode: bool,
    pub(in crate::store) status: Status,
    /// The format asked for, or `mixed`.
    pub(in crate::store) format: &'static str,
    pub(in crate::store) error_code: Option<&'static str>,
    pub(in crate::store) processing_us: Option<u64>,
    pub(in crate::store) hour: i64,
    pub(in crate::store) latency_ms: Option<u64>,
    pub(in crate::store) types: Vec<String>,
}

impl Measured {
    /// A session that was just made.
    pub(in crate::store) fn created(session: &Session) -> Self {
        let mut formats = session.request().credentials.iter().map(|c| c.format.name());
        let first = formats.next().unwrap_or("mixed");
        let format = if formats.all(|format| format == first) { first } else { "mixed" };
        let mut types = session.request().credential_types();
        types.sort_unstable();
        types.dedup();
        Self {
            livemode: session.livemode(),
            status: Status::Created,
            format,
            error_code: None,
            processing_us: None,
            hour: 0,
            latency_ms: None,
            types,
        }
    }

    /// A session that has settled.
    pub(in crate::store) fn settled(ended: &Settlement<'_>, processing_us: Option<u64>) -> Self {
        Self {
            status: ended.status,
            error_code: ended.reason.map(|reason| reason.as_str()),
            processing_us,
            hour: hour_of(ended.at),
            latency_ms: ended.answered_after_ms(),
            ..Self::created(ended.session)
        }
    }

    pub(in crate::store) fn outcome(&self) -> Outcomes {
        let one = |status| u64::from(self.status == status);
        Outcomes {
            verified: one(Status::Verified),
            failed: one(Status::Failed),
            expired: one(Status::Expired),
        }
    }
}

/// What one hour gains.
#[derive(Default)]
struct Gain<'m> {
    outcomes: Outcomes,
    latency: Sketch,
    processing: Sketch,
    types: BTreeMap<&'m str, Outcomes>,
    errors: BTreeMap<&'m str, u64>,
}

/// Adds live-mode settled sessions to the sums of their hours.
pub(in crate::store) fn record(main: &Connection, measured: &[Measured]) -> Result<(), StoreError> {
    let mut gains: BTreeMap<i64, Gain<'_>> = BTreeMap::new();
    for session in measured.iter().filter(|m| m.livemode && m.status.is_settled()) {
        let gain = gains.entry(session.hour).or_default();
        let outcome = session.outcome();
        gain.outcomes.add(&outcome);
        session.latency_ms.into_iter().for_each(|ms| gain.latency.add(ms));
        session.processing_us.into_iter().for_each(|us| gain.processing.add(us));
        session.types.iter().for_each(|name| gain.types.entry(name).or_default().add(&outcome));
        if let Some(code) = session.error_code {
            let count = gain.errors.entry(code).or_default();
            *count = count.saturating_add(1);
        }
    }
    for (hour, gain) in &mut gains {
        add_to_hour(main, *hour, gain)?;
        for (name, outcomes) in &gain.types {
            add_to_type(main, *hour, name, outcomes)?;
        }
        for (code, count) in &gain.errors {
            main.prepare_cached(
                "INSERT INTO metrics_errors VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO UPDATE SET sessions = sessions + excluded.sessions",
            )?
            .execute((hour, code, number(*count)))?;
        }
    }
    Ok(())
}

fn add_to_hour(main: &Connection, hour: i64, gain: &mut Gain<'_>) -> Result<(), StoreError> {
    let stored = main
        .prepare_cached("SELECT latency, processing FROM metrics_hours WHERE hour = ?1")?
        .query_row([hour], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .optional()?;
    match &stored {
        Some((latency, processing)) => {
            let damaged = || StoreError::Failed("a stored latency sketch cannot be read".into());
            gain.latency.merge(&Sketch::from_bytes(latency).ok_or_else(damaged)?);
            gain.processing.merge(&Sketch::from_bytes(processing).ok_or_else(damaged)?);
        }
        None => forget(main, hour.saturating_sub(KEPT_HOURS))?,
    }
    let Outcomes { verified, failed, expired } = gain.outcomes;
    main.prepare_cached(
        "INSERT INTO metrics_hours VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
         verified = verified + excluded.verified, failed = failed + excluded.failed, \
         expired = expired + excluded.expired, latency = excluded.latency, \
         processing = excluded.processing",
    )?
    .execute((
        hour,
        number(verified),
        number(failed),
        number(expired),
        gain.latency.to_bytes(),
        gain.processing.to_bytes(),
    ))?;
    Ok(())
}

fn add_to_type(
    main: &Connection,
    hour: i64,
    name: &str,
    outcomes: &Outcomes,
) -> Result<(), StoreError> {
    let Outcomes { verified, failed, expired } = *outcomes;
    let counts = [number(verified), number(failed), number(expired)];
    let mut add = main.prepare_cached(
        "UPDATE metrics_types SET verified = verified + ?3, failed = failed + ?4, \
         expired = expired + ?5 WHERE hour = ?1 AND credential_type = ?2",
    )?;
    let [verified, failed, expired] = counts;
    if add.execute((hour, name, verified, failed, expired))? > 0 {
        return Ok(());
    }
    main.prepare_cached(
        "INSERT INTO metrics_types SELECT ?1, \
         iif((SELECT count(*) FROM metrics_types WHERE hour = ?1) < ?6, ?2, ?7), ?3, ?4, ?5 \
         WHERE true ON CONFLICT DO UPDATE SET verified = verified + excluded.verified, \
         failed = failed + excluded.failed, expired = expired + excluded.expired",
    )?
    .execute((hour, name, verified, failed, expired, MAX_COUNTED_TYPES, OTHER_TYPES))?;
    Ok(())
}

/// Removes hours that no window reaches any more.
fn forget(main: &Connection, before: i64) -> Result<(), StoreError> {
    for table in ["metrics_hours", "metrics_types", "metrics_errors"] {
        main.execute(&format!("DELETE FROM {table} WHERE hour < ?1"), [before])?;
    }
    Ok(())
}
