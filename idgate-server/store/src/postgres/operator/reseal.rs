//! Putting one instance key in the place of another, beside running gateways.

use std::time::Duration;

use super::super::error::{Done, Failure};
use super::super::pool::Tx;
use super::super::rekey::{Part, page, parts};
use super::super::{instance, nodes};
use super::{Desk, PostgresOperator};
use crate::postgres_statements::row;
use crate::rekey::Mode;
use crate::types::Resealed;
use crate::types::StoreError;

/// How often what was sealed under another key meanwhile is sealed anew.
const ROUNDS: usize = 3;
/// How long one of them may take.
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
            "values are sealed under another instance key again and again, and both keys stay asked for; \
             see that each node and each command has the new one first in IDGATE_INSTANCE_KEYS, and run \
             `idgate keys reseal` again"
                .into(),
        ))
    }

    pub(crate) fn sealed(&self) -> Result<Resealed, StoreError> {
        self.run(each_part(&self.desk, Mode::Count, None))
    }
}

/// No other key is asked for any more, if no value is sealed under another one. What is counted is what
/// there will be: whoever seals under another one is gone, and nobody comes who does.
async fn forget_others(desk: &Desk, tx: &Tx<'_>) -> Done<Resealed> {
    let held = instance::hold_keys(tx, &desk.sealer, desk.needs_all_keys).await?;
    nodes::require_one_key(tx, &desk.sealer).await?;
    let left = each_part(desk, Mode::Count, Some(tx)).await?;
    if left.others == 0 && left.unreadable == 0 {
        instance::only_key(tx, &desk.sealer, &held).await?;
    }
    Ok(left)
}

/// All pages, each on its own. A transaction that is `held` open meanwhile is kept from being taken for
/// one that was left.
async fn each_part(desk: &Desk, mode: Mode, held: Option<&Tx<'_>>) -> Result<Resealed, Failure> {
    let mut found = Resealed::default();
    for part in parts() {
        let mut last = Part::beginning();
        loop {
            let keys = (&desk.sealer, &desk.audit);
            let (of_page, end) = page(&desk.pool, keys, &part, &last, mode).await?;
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
