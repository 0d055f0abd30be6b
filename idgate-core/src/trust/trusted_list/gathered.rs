//! Merges the entries of a provider that occurs several times in a list. A withdrawn key outweighs
//! one in force.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::entities::{ListedProvider, ListedService};
use crate::trust::certificate::Certificate;
use crate::trust::listing::TrustServiceProvider;

/// The keys of the services of one provider, by their SubjectPublicKeyInfo.
pub(super) type Keys = BTreeSet<Vec<u8>>;

/// Two entries with the same one are of one provider: identifier and name, or name and country.
type Identity = (Option<String>, String, Option<String>);

/// Providers by identity. An identifier alone is not enough: members of a group share one, and a
/// provider could name that of another.
#[derive(Default)]
pub(super) struct Gathered {
    providers: Vec<(TrustServiceProvider, Vec<ListedService>, Keys)>,
    known: BTreeMap<Identity, usize>,
}

impl Gathered {
    pub(super) fn add(
        &mut self,
        provider: TrustServiceProvider,
        services: Vec<ListedService>,
        withdrawn: Keys,
    ) {
        let identifier = provider.identifier().map(String::from);
        let country = provider.country.clone().filter(|_| identifier.is_none());
        let key = (identifier, provider.name.clone(), country);
        let at = *self.known.entry(key).or_insert(self.providers.len());
        match self.providers.get_mut(at) {
            Some((_, own, keys)) => {
                own.extend(services);
                keys.extend(withdrawn);
            }
            None => self.providers.push((provider, services, withdrawn)),
        }
    }

    /// A key that is withdrawn in one service of a provider is withdrawn in all of them. The same
    /// identifier is enough for this: a provider may have changed its name.
    pub(super) fn finish(self) -> Vec<ListedProvider> {
        let mut by_identifier: BTreeMap<String, Keys> = BTreeMap::new();
        for (provider, _, withdrawn) in &self.providers {
            for identifier in &provider.identifiers {
                let keys = by_identifier.entry(identifier.clone()).or_default();
                keys.extend(withdrawn.iter().cloned());
            }
        }
        let finish = |(provider, mut services, own): (TrustServiceProvider, Vec<_>, Keys)| {
            let of_others = provider.identifiers.iter().filter_map(|one| by_identifier.get(one));
            let withdrawn: Vec<&Keys> = of_others.chain([&own]).collect();
            let is_withdrawn_key = |key: &[u8]| withdrawn.iter().any(|keys| keys.contains(key));
            let is_affected = withdrawn.iter().any(|keys| !keys.is_empty());
            for service in services.iter_mut().filter(|_| is_affected) {
                let service: &mut ListedService = service;
                let is_withdrawn = |der: &[u8]| {
                    Certificate::parse(der).is_ok_and(|one| is_withdrawn_key(one.spki()))
                };
                let before = service.roots.len().saturating_add(service.signers.len());
                service.roots.retain(|root| !is_withdrawn(root.der()));
                service.signers.retain(|signer| !is_withdrawn(signer.der()));
                let after = service.roots.len().saturating_add(service.signers.len());
                if after == 0 && before > 0 && service.skipped.is_none() {
                    service.skipped = Some("has the key of a service that is withdrawn");
                }
            }
            ListedProvider { provider: Arc::new(provider), services }
        };
        self.providers.into_iter().map(finish).collect()
    }
}
