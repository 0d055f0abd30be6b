//! The log of one database, as it is verified and exported.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::StoreError;
use super::super::sql::{number, unsigned};
use super::heads::{from_row, total};
use super::page::row;
use super::proof::EntryRow;
use super::removal;
use super::report::{Chain, Log, Moment};
use crate::audit::AuditKeys;

/// The rows of one database.
pub(in crate::store) struct Rows<'c> {
    pub(in crate::store) main: &'c Connection,
    pub(in crate::store) keys: &'c AuditKeys,
}

impl Log for Rows<'_> {
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        let moment = self.main.unchecked_transaction()?;
        let mut chains = BTreeMap::new();
        let named = match client {
            Some(client) => vec![client.to_owned()],
            None => chain_names(&moment)?,
        };
        for client_id in named {
            if let Some(chain) = self.chain(&moment, &client_id)? {
                chains.insert(client_id, chain);
            }
        }
        let without_chain = moment
            .prepare_cached(
                "SELECT id FROM clients WHERE (?1 IS NULL OR id = ?1) \
                 AND id NOT IN (SELECT client_id FROM audit_heads)",
            )?
            .query_map([client], |row| row.get(0))?
            .collect::<Result<Vec<String>, _>>()?;
        // One with entries and no head is found where its chain ends.
        let without_chain =
            without_chain.into_iter().filter(|id| !chains.contains_key(id)).collect();
        let total = total(&moment, self.keys)?;
        moment.finish()?;
        Ok(Moment { chains, total, without_chain })
    }

    fn entries(
        &self,
        client_id: &str,
        (first, last): (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError> {
        let rows = self
            .main
            .prepare_cached(
                "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
                 WHERE client_id = ?1 AND seq >= ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4",
            )?
            .query_map((client_id, first, number(last), number(limit)), row)?
            .collect::<Result<_, _>>()?;
        Ok(rows)
    }
}

impl Rows<'_> {
    fn chain(&self, moment: &Connection, client_id: &str) -> Result<Option<Chain>, StoreError> {
        let head = moment
            .prepare_cached("SELECT * FROM audit_heads WHERE client_id = ?1")?
            .query_row([client_id], |row| from_row(self.keys, row))
            .optional()?;
        let last: Option<i64> = moment
            .prepare_cached("SELECT max(seq) FROM audit_entries WHERE client_id = ?1")?
            .query_row([client_id], |row| row.get(0))?;
        let checkpoints = moment
            .prepare_cached(
                "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 ORDER BY seq",
            )?
            .query_map([client_id], |row| row.get(0))?
            .collect::<Result<Vec<String>, _>>()?;
        let removal = removal::record(moment, client_id)?;
        let is_there =
            head.is_some() || last.is_some() || !checkpoints.is_empty() || removal.is_some();
        let (client_id, last) = (client_id.to_owned(), unsigned(last.unwrap_or(0)));
        Ok(is_there.then_some(Chain { client_id, head, last, checkpoints, removal }))
    }
}

/// The names of all chains: of heads, entries and checkpoints, since each may have been removed.
fn chain_names(main: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = main.prepare(
        "WITH RECURSIVE
           e (id) AS (SELECT min(client_id) FROM audit_entries UNION ALL
             SELECT (SELECT min(client_id) FROM audit_entries WHERE client_id > e.id) FROM e
             WHERE e.id IS NOT NULL),
           c (id) AS (SELECT min(client_id) FROM audit_checkpoints UNION ALL
             SELECT (SELECT min(client_id) FROM audit_checkpoints WHERE client_id > c.id) FROM c
             WHERE c.id IS NOT NULL)
         SELECT client_id FROM audit_heads UNION SELECT id FROM e WHERE id IS NOT NULL
         UNION SELECT id FROM c WHERE id IS NOT NULL
         UNION SELECT client_id FROM audit_removals",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
