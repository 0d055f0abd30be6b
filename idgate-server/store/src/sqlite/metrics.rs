//! Counting settled sessions in the transaction that settles them, once per group of jobs.

use rusqlite::{Connection, OptionalExtension as _};

use crate::limits::MAX_COUNTED_TYPES;
use crate::metrics::{Gain, KEPT_HOURS, Measured, OTHER_TYPES, gains};
use crate::sketch::Sketch;
use crate::sql::number;
use crate::types::{Outcomes, StoreError};

/// Adds live-mode settled sessions to the sums of their hours.
pub(crate) fn record(main: &Connection, measured: &[Measured]) -> Result<(), StoreError> {
    for (hour, gain) in &mut gains(measured) {
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
