//! What is read rarely and used by every request has a number in the database that grows with each
//! change. All numbers are read together.

use crate::columns::Columns;
use crate::db::{Db, Row, sql};
use crate::failure::{Done, Failure};
use crate::sql::unsigned;

/// The columns of the numbers, for a statement of its own or beside what else a row has.
macro_rules! numbers {
    () => {
        "(SELECT version FROM trust_version), \
         (SELECT coalesce(max(version), 0) + count(*) - count(sealed) FROM gateway_keys), \
         (SELECT version FROM certificates_version)"
    };
}
pub(super) use numbers;

/// The numbers in the database at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Counts the changes of the trust store.
    pub(super) trust: u64,
    /// Goes up with every key that is made and with every private half that is wiped; 0: there is no
    /// key.
    pub(super) gateway_keys: u64,
    /// Counts the changes of certificates and registrations.
    pub(super) certificates: u64,
}

impl Numbers {
    /// In the order of the fields.
    pub(super) const TEXT: &str = concat!("SELECT ", numbers!());

    /// Those of now, or of the moment of a transaction.
    pub(super) async fn read(db: &Db<'_>) -> Done<Self> {
        let found = db.one(sql(Self::TEXT), &[], |row| match row {
            Row::Sqlite(row) => Ok(Self::at(*row, [0, 1, 2])?),
            Row::Postgres(row) => Ok(Self::at(*row, [0, 1, 2])?),
        });
        found.await?.ok_or_else(|| Failure::failed("the database does not count"))
    }

    /// From these columns of a row that has more.
    pub(super) fn at<R: Columns>(row: &R, columns: [usize; 3]) -> Result<Self, R::Error> {
        let number = |at| Ok(row.column::<Option<i64>>(at)?.map_or(0, unsigned));
        let [trust, gateway_keys, certificates] = columns;
        Ok(Self {
            trust: number(trust)?,
            gateway_keys: number(gateway_keys)?,
            certificates: number(certificates)?,
        })
    }

    /// The later of each.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            trust: self.trust.max(other.trust),
            gateway_keys: self.gateway_keys.max(other.gateway_keys),
            certificates: self.certificates.max(other.certificates),
        }
    }
}
