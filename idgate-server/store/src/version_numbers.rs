//! Version numbers of data that every request uses and that changes rarely. Each grows with every
//! change, and all are read together.

use crate::db::{Db, Row, sql};
use crate::failure::{Done, Failure};
use crate::sql::unsigned;

/// The columns of the numbers, for a statement of their own or as part of another row.
macro_rules! numbers {
    () => {
        "(SELECT version FROM trust_version), \
         (SELECT coalesce(max(version), 0) + count(*) - count(sealed) FROM gateway_keys), \
         (SELECT version FROM certificates_version)"
    };
}
pub(super) use numbers;

/// The numbers in one snapshot of the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Numbers {
    /// Counts the changes of the trust store.
    pub(super) trust: u64,
    /// Grows with every key that is created and every private key that is erased. 0: there is no
    /// key.
    pub(super) gateway_keys: u64,
    /// Counts the changes of certificates and registrations.
    pub(super) certificates: u64,
}

impl Numbers {
    /// In the order of the fields.
    pub(super) const TEXT: &str = concat!("SELECT ", numbers!());

    /// The current numbers, or those of the transaction's snapshot.
    pub(super) async fn read(db: &Db<'_>) -> Done<Self> {
        let found = db.one(sql(Self::TEXT), &[], |row| Self::at(row, 0)).await?;
        found.ok_or_else(|| Failure::failed("the database returned no count"))
    }

    /// The numbers from three columns of a row that begin at `first`.
    pub(super) fn at(row: &Row<'_>, first: usize) -> Done<Self> {
        let number = |more: usize| -> Done<u64> {
            Ok(row.get::<Option<i64>>(first.saturating_add(more))?.map_or(0, unsigned))
        };
        Ok(Self { trust: number(0)?, gateway_keys: number(1)?, certificates: number(2)? })
    }

    /// The larger of each.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            trust: self.trust.max(other.trust),
            gateway_keys: self.gateway_keys.max(other.gateway_keys),
            certificates: self.certificates.max(other.certificates),
        }
    }
}
