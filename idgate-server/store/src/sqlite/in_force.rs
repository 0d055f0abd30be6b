//! Trust, keys and certificates as they are now: what is held, once its number is known to be the latest.

use std::sync::Arc;

use idgate_core::trust::TrustSnapshot;
use rusqlite::Connection;

use super::SqliteStore;
use crate::db::at_one_moment;
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::trust::entries;
use crate::types::{InForce, Read};
use crate::version_numbers::Numbers;
use crate::{certificates, gateway_keys};
use idgate_base::clock::Moment;

impl SqliteStore {
    pub(crate) fn in_force(&self, since: Moment) -> Read<'_, InForce> {
        let numbers = self.numbers.since(&self.readers, since);
        Box::pin(async move {
            let numbers = numbers.await?;
            let (trust, gateway_keys, certificates) = tokio::try_join!(
                self.trust_of(numbers),
                self.gateway_keys_of(numbers),
                self.certificates_of(numbers),
            )?;
            Ok(InForce { trust, gateway_keys, certificates })
        })
    }

    pub(crate) fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        let numbers = self.numbers.since(&self.readers, Moment::now());
        Box::pin(async move { self.trust_of(numbers.await?).await })
    }

    pub(crate) fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        let numbers = self.numbers.since(&self.readers, Moment::now());
        Box::pin(async move { self.gateway_keys_of(numbers.await?).await })
    }

    pub(crate) fn certificates(&self) -> Read<'_, Arc<Certificates>> {
        let numbers = self.numbers.since(&self.readers, Moment::now());
        Box::pin(async move { self.certificates_of(numbers.await?).await })
    }

    fn trust_of(&self, numbers: Numbers) -> Read<'_, Arc<TrustSnapshot>> {
        let pinned_live = self.env.pinned_live;
        let load = move |main: &Connection| {
            at_one_moment(main, async |db| entries::snapshot(db, pinned_live).await)
        };
        self.trust.current(&self.readers, numbers, |numbers| numbers.trust, load)
    }

    fn gateway_keys_of(&self, numbers: Numbers) -> Read<'_, Arc<GatewayKeys>> {
        let sealer = self.env.sealer.clone();
        let load = move |main: &Connection| {
            at_one_moment(main, async |db| gateway_keys::read(db, &sealer).await)
        };
        self.gateway_keys.current(&self.readers, numbers, |numbers| numbers.gateway_keys, load)
    }

    fn certificates_of(&self, numbers: Numbers) -> Read<'_, Arc<Certificates>> {
        let sealer = self.env.sealer.clone();
        let load = move |main: &Connection| {
            at_one_moment(main, async |db| certificates::read(db, &sealer).await)
        };
        self.certificates.current(&self.readers, numbers, |numbers| numbers.certificates, load)
    }
}
