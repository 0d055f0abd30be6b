//! Putting one instance key in the place of another, beside running gateways.

use super::super::instance;
use super::super::rekey::{Part, page, parts};
use super::PostgresOperator;
use crate::store::interface::StoreError;
use crate::store::operator::{ResealOperator, Resealed};
use crate::store::rekey::Mode;

impl ResealOperator for PostgresOperator {
    fn reseal(&mut self) -> Result<Resealed, StoreError> {
        let found = self.each_part(Mode::Replace)?;
        let desk = &self.desk;
        self.run(desk.pool.transact(&desk.sealer, |sealer, tx| {
            Box::pin(async move { instance::only_key(tx, sealer).await })
        }))?;
        Ok(found)
    }

    fn sealed(&self) -> Result<Resealed, StoreError> {
        self.each_part(Mode::Count)
    }
}

impl PostgresOperator {
    fn each_part(&self, mode: Mode) -> Result<Resealed, StoreError> {
        let mut found = Resealed::default();
        for part in parts() {
            let mut last = Part::beginning();
            loop {
                let desk = (&self.desk.sealer, &self.desk.audit);
                let (of_page, end) = self.run(page(&self.desk.pool, desk, &part, &last, mode))?;
                found.add(of_page);
                let Some(end) = end else { break };
                last = end;
            }
        }
        Ok(found)
    }
}
