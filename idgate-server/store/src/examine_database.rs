//! The checks of `idgate doctor` on a shared database.

use idgate_core::UnixMillis;

use super::postgres::PostgresOperator;
use super::rekey;
use crate::address::Address;
use crate::finding::Finding;
use crate::operator::OperatorStore;
use crate::seal::InstanceKey;
use crate::sqlite::examine::Examination;
use crate::types::StoreError;
use crate::{over_asking, registered};

const CHECK: &str = "database";
/// The advice to operators who dump the database.
const DUMPS: &str = "dump it with `pg_dump --no-unlogged-table-data` only: sealed results must not be \
                     in a backup";

/// Checks a database. `deep`: walks the whole audit log.
pub fn examine_database(
    address: &Address,
    key: &InstanceKey,
    now: UnixMillis,
    deep: bool,
) -> Examination {
    let mut examination = Examination::default();
    let found = PostgresOperator::open(address, key);
    let looked = found.and_then(|operator| {
        let settings = operator.server_settings()?;
        let options = address.config.get_options().unwrap_or_default();
        let operator = OperatorStore::Postgres(operator);
        if key.is_several() {
            examination.findings.push(rekey::judge(operator.sealed()?));
        }
        examination.findings.extend(settings.judge(options));
        look(&operator, address, (now, deep), &mut examination)
    });
    if let Err(error) = looked {
        examination.findings.push(Finding::bad(CHECK, error.to_string()));
    }
    examination
}

fn look(
    operator: &OperatorStore,
    address: &Address,
    (now, deep): (UnixMillis, bool),
    examination: &mut Examination,
) -> Result<(), StoreError> {
    let clients = operator.clients()?.len();
    let good = format!("{address} has {clients} clients and the schema of this program; {DUMPS}");
    examination.findings.push(Finding::good(CHECK, good));
    examination.trust = Some(operator.trust_entries()?);
    let certificates = operator.certificates(None)?;
    let sealer = operator.sealer();
    for registration in operator.registrations()? {
        let looked = operator.read(async |db| over_asking::look(db, sealer, &registration).await);
        examination.findings.push(looked?);
    }
    examination.findings.extend(operator.read(async |db| registered::look(db, now).await)?);
    examination.certificates = Some(certificates);
    if deep {
        let report = operator.verify_audit(None, &[])?;
        examination.findings.push(match report.breaches.first() {
            None => Finding::good("audit", format!("{} entries are intact", report.entries)),
            Some(_) => Finding::bad("audit", "was altered; `idgate audit verify` says where"),
        });
    }
    Ok(())
}
