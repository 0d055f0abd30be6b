//! Replaces one instance key with another while gateways run. A page holds rows of one table, in
//! the order of their keys. A value that changed since it was read is left alone.

use std::time::Duration;

use super::super::claims::{SLOTS, table};
use super::super::error::Done;
use super::super::nodes;
use super::super::pool::Tx;
use super::{Desk, PostgresOperator};
use crate::db::Db;
use crate::instance_keys::{Lock, checks, judge, only_key};
use crate::postgres_statements::{execute, row, rows};
use crate::rekey::{self, LOG, Last, Mode, PAGE, PlaceOf, Rekeying, beginning, sealed_parts};
use crate::seal::Place;
use crate::types::Resealed;
use crate::types::StoreError;

/// How many more rounds seal values that nodes sealed with another key in the meantime.
const ROUNDS: usize = 3;
/// How long a round may take.
const PASS: Duration = Duration::from_secs(24 * 3600);

impl PostgresOperator {
    pub(crate) fn reseal(&mut self) -> Result<Resealed, StoreError> {
        self.answer = PASS;
        let desk = &self.desk;
        self.run(desk.pool.transact(desk, |desk, tx| {
            Box::pin(async move { nodes::require_one_key(tx, &desk.sealer).await })
        }))?;
        let mut found = self.run(each_part(desk, Mode::Replace, None))?;
        for _ in 0..ROUNDS {
            let left = self.run(desk.pool.transact(desk, |desk, tx| {
                Box::pin(async move { forget_others(desk, tx).await })
            }))?;
            found.unreadable = left.unreadable;
            if left.others == 0 {
                return Ok(found);
            }
            let more = self.run(each_part(desk, Mode::Replace, None))?;
            found.others = found.others.saturating_add(more.others);
        }
        Err(StoreError::Failed(
            "values keep being sealed under another instance key, so both keys are still required; \
             make sure that each node and each command has the new one first in \
             IDGATE_INSTANCE_KEYS, and run `idgate keys reseal` again"
                .into(),
        ))
    }

    pub(crate) fn sealed(&self) -> Result<Resealed, StoreError> {
        self.run(each_part(&self.desk, Mode::Count, None))
    }
}

/// Stops requiring other keys if no value is sealed with one. The count is final: nodes that seal
/// with another key are gone, and none can come back before the commit.
async fn forget_others(desk: &Desk, tx: &Tx<'_>) -> Done<Resealed> {
    let db = Db::Transaction(tx);
    let held = checks(&db, Lock::Update).await?;
    if desk.needs_all_keys {
        judge(&db, &desk.sealer, &held)?;
    }
    nodes::require_one_key(tx, &desk.sealer).await?;
    let left = each_part(desk, Mode::Count, Some(tx)).await?;
    if left.others == 0 && left.unreadable == 0 {
        only_key(&db, &desk.sealer, &held).await?;
    }
    Ok(left)
}

/// A group of values with the same form.
enum Part {
    /// A table that both databases have.
    Shared(rekey::Part),
    /// Sealed values of sessions, in a separate table.
    OfSessions(PlaceOf, String),
}

/// All groups.
fn parts() -> impl Iterator<Item = Part> {
    let keys: PlaceOf = |object, client| Place { purpose: "session_keys", object, client };
    let results: PlaceOf = |object, client| Place { purpose: "results", object, client };
    let slots = (0..SLOTS).map(move |slot| Part::OfSessions(results, table(slot)));
    let of_sessions = [Part::OfSessions(keys, "session_keys".into())].into_iter().chain(slots);
    let log = LOG.into_iter().map(Part::Shared);
    sealed_parts().map(Part::Shared).chain(of_sessions).chain(log)
}

/// Runs through all pages, each separately. A transaction that is `held` open during that time gets
/// a statement after each page, because the server would end an idle one.
async fn each_part(desk: &Desk, mode: Mode, held: Option<&Tx<'_>>) -> Done<Resealed> {
    let mut found = Resealed::default();
    for part in parts() {
        let mut last = beginning();
        loop {
            let (of_page, end) = page(desk, &part, &last, mode).await?;
            found.add(of_page);
            if let Some(held) = held {
                row(held, "SELECT", &[]).await?;
            }
            let Some(end) = end else { break };
            last = end;
        }
    }
    Ok(found)
}

/// One page of a group: its values, and its end unless it is empty. The page is read and replaced
/// in one transaction, except in tables that are truncated: a suspended command must not block
/// others there.
async fn page(desk: &Desk, part: &Part, last: &Last, mode: Mode) -> Done<(Resealed, Option<Last>)> {
    let part = match part {
        Part::OfSessions(place, table) => {
            let mut work = Rekeying::new(&desk.sealer, &desk.audit, mode);
            let end = of_sessions(desk, (*place, table), &last.0, &mut work).await?;
            return Ok((work.found, end));
        }
        Part::Shared(part) => *part,
    };
    // Counting seals nothing.
    let pool = if mode == Mode::Count { &desk.pool.not_noting() } else { &desk.pool };
    pool.transact(&(desk, last), |&(desk, last), tx| {
        Box::pin(async move {
            let mut work = Rekeying::new(&desk.sealer, &desk.audit, mode);
            let end = rekey::page(&Db::Transaction(tx), part, last, &mut work).await?;
            Ok((work.found, end))
        })
    })
    .await
}

async fn of_sessions(
    desk: &Desk,
    (place, table): (PlaceOf, &str),
    last: &str,
    work: &mut Rekeying<'_>,
) -> Done<Option<Last>> {
    let client = desk.pool.client().await?;
    let select = format!(
        "SELECT k.session_id, s.client_id, k.sealed FROM {table} AS k \
         JOIN sessions AS s ON s.id = k.session_id WHERE k.session_id > $1 \
         ORDER BY k.session_id LIMIT $2"
    );
    let (mut ids, mut anew, mut old) = (Vec::new(), Vec::new(), Vec::new());
    let mut end = None;
    for row in rows(&client, &select, &[&last, &PAGE]).await? {
        let (id, client): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let sealed: Vec<u8> = row.try_get(2)?;
        end = Some((id.clone(), 0));
        if let Some(value) = work.sealed(place(&id, &client), &sealed)? {
            ids.push(id);
            anew.push(value);
            old.push(sealed);
        }
    }
    if !ids.is_empty() {
        let update = format!(
            "UPDATE {table} AS k SET sealed = v.anew \
             FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS v (id, anew, old) \
             WHERE k.session_id = v.id AND k.sealed = v.old"
        );
        execute(&client, &update, &[&ids, &anew, &old]).await?;
    }
    Ok(end)
}
