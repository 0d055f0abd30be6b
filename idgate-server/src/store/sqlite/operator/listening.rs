//! What happens to one client's sessions, for `idgate listen`.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::audit::AuditEntry;
use crate::clock::Moment;
use crate::store::interface::StoreError;
use crate::store::operator::{Listener, ListeningOperator};
use crate::store::sql::{number, unsigned};
use crate::store::{keys, webhook_endpoints};

impl ListeningOperator for SqliteOperator {
    fn listener(&self, digest: &[u8; 32], now: UnixMillis) -> Result<Option<Listener>, StoreError> {
        let Some((caller, _)) = keys::authenticate(&self.main, digest, Moment::now(), now)? else {
            return Ok(None);
        };
        let (client_id, livemode) = (caller.client_id.as_str().to_owned(), caller.livemode);
        let to = webhook_endpoints::destination(&self.main, &self.sealer, &client_id, now)?;
        let (secret, previous) = match to {
            Some(to) => (to.secret, to.previous),
            None => (webhook_endpoints::provisioned(&self.main, &self.sealer, &client_id)?, None),
        };
        Ok(Some(Listener { client_id, livemode, secret, previous }))
    }

    fn last_entry(&self, client_id: &str) -> Result<u64, StoreError> {
        let last = "SELECT coalesce(max(seq), 0) FROM audit_entries WHERE client_id = ?1";
        Ok(unsigned(self.main.prepare_cached(last)?.query_row([client_id], |row| row.get(0))?))
    }

    fn entries_after(
        &self,
        client_id: &str,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let mut statement = self.main.prepare_cached(
            "SELECT fields FROM audit_entries WHERE client_id = ?1 AND seq > ?2 \
             ORDER BY seq LIMIT ?3",
        )?;
        let rows = statement
            .query_map((client_id, number(seq), number(limit)), |row| row.get::<_, String>(0))?;
        rows.map(|row| Listener::entry(client_id, &row?)).collect()
    }
}
