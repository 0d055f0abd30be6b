//! Replaces one instance key with another while no gateway runs.

use idgate_core::UnixMillis;

use super::SqliteOperator;
use crate::sqlite::claims::remove_orphaned_keys;
use crate::sqlite::disk::Disk;
use crate::sqlite::files::{claims_path, open_claims, open_for_reading};
use crate::sqlite::rekey as sqlite;
use crate::sqlite::{claims_file, directory};
use crate::types::Resealed;
use crate::types::StoreError;

impl SqliteOperator {
    pub(crate) fn reseal(&mut self, now: UnixMillis) -> Result<Resealed, StoreError> {
        let _nobody_serves = directory::lock(&self.dir)?;
        claims_file::erase_first(&self.dir, &Disk::of(&self.dir), now)?;
        let has_claims = claims_path(&self.dir).exists();
        let mut claims = has_claims.then(|| open_claims(&self.dir)).transpose()?;
        if let Some(claims) = &claims {
            remove_orphaned_keys(claims, &self.main)?;
        }
        // Values in claims.db are sealed before anything in the main database.
        if let Some(check) = self.first.check() {
            directory::note(&self.main, check)?;
        }
        sqlite::reseal(&mut self.main, claims.as_mut(), &self.sealer, &self.audit)
    }

    pub(crate) fn sealed(&self) -> Result<Resealed, StoreError> {
        let path = claims_path(&self.dir);
        let claims = path.exists().then(|| open_for_reading(&path)).transpose()?;
        sqlite::count(&self.main, claims.as_ref(), &self.sealer, &self.audit)
    }
}
