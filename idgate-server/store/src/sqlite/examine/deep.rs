//! The deep check: opens every sealed value, and compares the stored rows with the audit log.

use idgate_core::UnixMillis;
use rusqlite::Connection;

use crate::db::{Db, Row, at_once};
use crate::rekey::SECRETS;
use crate::seal::Sealer;
use crate::sql::millis;
use crate::sqlite::examine::{Finding, or_bad};
use crate::stored_session::Stored;
use crate::types::StoreError;

/// Settled sessions are removed after 7 days. An hour before that, every one must still be there.
const SURELY_KEPT_MS: u64 = (7 * 24 - 1) * 3_600_000;

/// The last entry about each session, by client.
const LAST: &str = "WITH last AS MATERIALIZED (
    SELECT client_id, fields ->> 'session_id' AS id, fields ->> 'status' AS status,
           unixepoch(fields ->> 'occurred_at') * 1000 AS at, max(seq)
    FROM audit_entries WHERE json_valid(fields) AND fields ->> 'session_id' IS NOT NULL
    GROUP BY client_id, 2)";

/// Ended keys are removed after 90 days, and no earlier.
const KEYS_KEPT_MS: u64 = 90 * 24 * 3_600_000;

/// How many examples a message names.
const NAMED: usize = 3;

/// Checks every row.
pub(super) fn look(main: &Connection, sealer: &Sealer, now: UnixMillis) -> Vec<Finding> {
    vec![
        or_bad("sealed", everything_opens(main, sealer)),
        or_bad("sessions", sessions_are_there(main, now)),
        or_bad("api_keys", keys_are_known(main, now)),
    ]
}

/// Checks that every sealed value opens in its place, and that sessions match their rows.
fn everything_opens(main: &Connection, sealer: &Sealer) -> Result<Finding, StoreError> {
    let mut bad = Vec::new();
    let mut rows = 0_u64;
    for kind in &SECRETS {
        let mut last = String::new();
        loop {
            let page = at_once(kind.page(&Db::sqlite(main), &last))?;
            let Some((end, ..)) = page.last() else { break };
            last.clone_from(end);
            for (id, client_id, sealed) in page {
                rows = rows.saturating_add(1);
                if sealer.open((kind.place)(&id, &client_id), &sealed).is_err() {
                    bad.push(id);
                }
            }
        }
    }
    let mut statement =
        main.prepare("SELECT id, client_id, livemode, record, status FROM sessions")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let stored = Stored::read(&Row::Sqlite(row))?;
        let status: String = row.get(4)?;
        rows = rows.saturating_add(1);
        let session = stored.open(sealer).ok();
        if session.is_none_or(|session| session.phase().status().as_str() != status) {
            bad.push(stored.id);
        }
    }
    Ok(match bad.as_slice() {
        [] => Finding::good("sealed", format!("{rows} rows open")),
        bad => Finding::bad(
            "sealed",
            format!(
                "{} of {rows} rows were changed outside idgate and cannot be read ({}); restore a \
                 backup, or delete those sessions",
                bad.len(),
                named(bad)
            ),
        ),
    })
}

/// Checks that the sessions are exactly those that the audit log implies.
fn sessions_are_there(main: &Connection, now: UnixMillis) -> Result<Finding, StoreError> {
    let moment = main.unchecked_transaction()?;
    let since = millis(now.minus(SURELY_KEPT_MS));
    let found = |select: &str| ids(&moment, &format!("{LAST} {select}"), since);
    let lost = found(
        "SELECT last.id FROM last LEFT JOIN sessions AS s ON s.id = last.id \
         WHERE s.id IS NULL AND last.id NOT IN (SELECT session_id FROM left_out) \
         AND (last.status = 'CREATED' OR (last.status <> 'DELETED' AND last.at > ?1))",
    )?;
    // A chain may begin later than its sessions: sessions older than its first entry are not in it.
    let foreign = found(
        "SELECT s.id FROM sessions AS s \
         LEFT JOIN last ON last.id = s.id AND last.client_id = s.client_id \
         WHERE ?1 IS NOT NULL AND (last.status = 'DELETED' OR (last.id IS NULL \
         AND s.created_at >= coalesce((SELECT unixepoch(fields ->> 'occurred_at') * 1000 \
         FROM audit_entries AS e WHERE e.client_id = s.client_id AND json_valid(fields) \
         ORDER BY seq LIMIT 1), 0)))",
    )?;
    let changed = found(
        "SELECT s.id FROM sessions AS s \
         JOIN last ON last.id = s.id AND last.client_id = s.client_id \
         WHERE ?1 IS NOT NULL AND last.status <> 'DELETED' \
         AND iif(last.status = 'CREATED', s.settled_at IS NOT NULL, s.status <> last.status)",
    )?;
    let count: i64 = moment.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
    moment.finish()?;
    let mut wrong = Vec::new();
    for (ids, what) in [
        (lost, "are in the audit log, but missing from the database"),
        (foreign, "are in no audit log, or are there again after their deletion"),
        (changed, "ended differently according to the audit log"),
    ] {
        if !ids.is_empty() {
            wrong.push(format!("{} sessions {what} ({})", ids.len(), named(&ids)));
        }
    }
    Ok(if wrong.is_empty() {
        Finding::good("sessions", format!("{count}, as the audit log says"))
    } else {
        Finding::bad("sessions", format!("{}; restore a backup", wrong.join("; ")))
    })
}

/// Checks that no client has more keys than were created for it, nor fewer active ones. Only the
/// last 90 days count, since keys that ended earlier may have been removed.
fn keys_are_known(main: &Connection, now: UnixMillis) -> Result<Finding, StoreError> {
    // A chain that begins with anything else is younger than its client.
    let wrong = ids(
        main,
        "SELECT c.id FROM clients AS c WHERE ?1 IS NOT NULL AND
         (SELECT fields ->> 'status' FROM audit_entries AS e
          WHERE e.client_id = c.id AND e.seq = 1 AND json_valid(fields)) = 'API_KEY_CREATED'
         AND ((SELECT count(*) FROM api_keys AS k WHERE k.client_id = c.id)
            > (SELECT count(*) FROM audit_entries AS e WHERE e.client_id = c.id
               AND json_valid(fields) AND fields ->> 'status' = 'API_KEY_CREATED')
         OR (SELECT count(*) FROM api_keys AS k WHERE k.client_id = c.id AND k.revoked_at IS NULL)
            > (SELECT coalesce(sum(CASE fields ->> 'status' WHEN 'API_KEY_CREATED' THEN 1
               WHEN 'API_KEY_REVOKED' THEN -1 END), 0) FROM audit_entries AS e
               WHERE e.client_id = c.id AND json_valid(fields))
         OR (SELECT count(*) FROM api_keys AS k WHERE k.client_id = c.id AND k.revoked_at IS NULL)
            < (SELECT coalesce(sum(CASE fields ->> 'status' WHEN 'API_KEY_CREATED' THEN 1
               WHEN 'API_KEY_REVOKED' THEN -1 END), 0) FROM audit_entries AS e
               WHERE e.client_id = c.id AND json_valid(fields)
               AND unixepoch(fields ->> 'occurred_at') * 1000 > ?1))",
        millis(now.minus(KEYS_KEPT_MS)),
    )?;
    Ok(match wrong.as_slice() {
        [] => Finding::good("api_keys", "as many as the audit log says"),
        wrong => Finding::bad(
            "api_keys",
            format!(
                "{} clients have other keys than the audit log says ({}): look at them, revoke those \
                 clients, or restore a backup",
                wrong.len(),
                named(wrong)
            ),
        ),
    })
}

fn ids(main: &Connection, sql: &str, since: i64) -> Result<Vec<String>, StoreError> {
    let mut statement = main.prepare(sql)?;
    let found = statement.query_map([since], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn named(ids: &[String]) -> String {
    let shown: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    let more = if ids.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
