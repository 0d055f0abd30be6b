//! The stored European trusted lists of trust entries. The store keeps the token as it was
//! received. An entry's issuers are read from the token each time.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ListAnchors, ListProfile, ListTerms, TrustEntry, TrustedList, VerifiedCrl, pem_or_der,
};
use idgate_core::trust::ListType;
use serde_json::json;

use super::super::types::{ListFetch, StoreError};

/// A new trusted list for an entry.
#[derive(Clone, Debug)]
pub struct NewTrustedList {
    /// The URL that it was fetched from; `None`: it came from a file.
    pub url: Option<String>,
    /// The list as it was received.
    pub token: Vec<u8>,
    /// The type that it must have if the entry does not follow a list yet. A national list in XML
    /// has services of several types.
    pub list_type: Option<ListType>,
    /// The trust anchors for its signer, in DER, one after another. Empty: it has none and is for
    /// tests. `None`: those of the entry's former list.
    pub anchors: Option<Vec<u8>>,
    /// CRLs of the CAs among the anchors, in DER, one after another. `None`: those of the entry's
    /// former list.
    pub crls: Option<Vec<u8>>,
    /// Whether to accept it even if a newer one was seen.
    pub accept_rollback: bool,
}

/// How an entry uses its list. Absent attributes stay as they are.
#[derive(Clone, Debug, Default)]
pub struct ListSettings {
    /// The identifiers of the accepted providers. Empty: all providers.
    pub providers: Option<Vec<String>>,
    /// The certificate profile that a signer below a listed CA must satisfy.
    pub profile: Option<ListProfile>,
    /// Whether the list stays in force after its next update is due.
    pub allow_stale: Option<bool>,
}

impl ListSettings {
    /// Whether there is no change.
    pub const fn is_empty(&self) -> bool {
        self.providers.is_none() && self.profile.is_none() && self.allow_stale.is_none()
    }
}

/// The list of an entry for operators.
#[derive(Clone, Debug)]
pub struct TrustedListRecord {
    /// The stored row.
    pub row: ListRow,
    /// The list itself, read from the row.
    pub list: Arc<TrustedList>,
    /// The state of its fetches; `None`: it came from a file, or was not fetched again yet.
    pub fetch: Option<ListFetch>,
}

impl TrustedListRecord {
    /// Reads the list from its row.
    ///
    /// # Errors
    /// The token is damaged.
    pub(crate) fn new(row: ListRow, fetch: Option<ListFetch>) -> Result<Self, StoreError> {
        let list = Arc::new(row.recall()?);
        Ok(Self { row, list, fetch })
    }

    /// Returns the number of certificates in it.
    pub fn certificates(&self) -> usize {
        let services = self.list.providers.iter().flat_map(|listed| &listed.services);
        services.map(|service| service.certificates.len()).sum()
    }
}

/// The stored row of a list.
#[derive(Clone, Debug)]
pub struct ListRow {
    /// The name of the entry.
    pub issuer_id: String,
    /// The URL that it was fetched from; `None`: it came from a file.
    pub url: Option<String>,
    /// The name of its type, for example `pid`.
    pub list_type: String,
    /// The organization of its first signer.
    pub organization: Option<String>,
    /// The list as it was received.
    pub token: Vec<u8>,
    /// The hash of the token.
    pub sha256: Vec<u8>,
    /// The trust anchors for its signer, in DER, one after another. Empty: it has none and is for
    /// tests.
    pub anchors: Vec<u8>,
    /// CRLs of the CAs among the anchors.
    pub crls: Vec<u8>,
    /// The identifiers of the accepted providers as a JSON array. Empty: all providers.
    pub providers: String,
    /// The certificate profile that a signer below a listed CA must satisfy.
    pub profile: Option<String>,
    /// Whether it stays in force after its next update is due.
    pub allow_stale: bool,
    /// Whether its issuers serve test-mode sessions only.
    pub test_only: bool,
    /// Its sequence number.
    pub sequence: u64,
    /// The number of providers in it.
    pub listed: u64,
    /// The time at which its next update is due.
    pub next_update: UnixMillis,
    /// The time at which it was imported.
    pub added_at: UnixMillis,
    /// The territory for which the entry's list of lists names it; `None`: the operator named it.
    pub named_for: Option<String>,
    /// The time at which the next update of that list of lists is due.
    pub named_until: Option<UnixMillis>,
}

impl ListRow {
    /// Returns the trust anchors for its signer; `None`: it has none.
    pub fn anchors(&self) -> Result<Option<ListAnchors>, StoreError> {
        anchors(&self.anchors)
    }

    /// Returns its CRLs.
    ///
    /// # Errors
    /// A CRL cannot be read, or no CA among the anchors signed it.
    pub fn verified_crls(&self) -> Result<Vec<VerifiedCrl>, StoreError> {
        verified_crls(&self.crls, &self.anchors)
    }

    /// Returns the identifiers of the accepted providers. Empty: all providers.
    pub fn provider_ids(&self) -> Vec<String> {
        serde_json::from_str(&self.providers).unwrap_or_default()
    }

    /// Returns the certificate profile that a signer below a listed CA must satisfy.
    pub fn list_profile(&self) -> Option<ListProfile> {
        self.profile.as_deref().and_then(ListProfile::from_name)
    }

    /// Reads the list from the stored token.
    pub(crate) fn recall(&self) -> Result<TrustedList, StoreError> {
        let anchors = self.anchors()?;
        let taken_as = (ListType::from_name(&self.list_type), anchors.as_ref());
        idgate_xml_list::recall(&PROVIDER, &self.token, taken_as, self.added_at).map_err(|error| {
            StoreError::Failed(format!("the list of trust entry {}: {error}", self.issuer_id))
        })
    }

    /// Adds the issuers of `list`, the list of this row, to `entry`.
    pub(super) fn feed(&self, list: &TrustedList, entry: &mut TrustEntry) {
        let mut terms = ListTerms::default();
        terms.named_until = self.named_until;
        terms.source.clone_from(&self.url);
        terms.providers = self.provider_ids();
        terms.profile = self.list_profile();
        terms.allow_stale = self.allow_stale;
        terms.test_only = self.test_only;
        entry.take_list(list, &terms);
    }

    /// Replaces the settings that are given.
    pub(crate) fn set(&mut self, settings: &ListSettings) {
        if let Some(providers) = &settings.providers {
            self.providers = json!(providers).to_string();
        }
        if let Some(profile) = settings.profile {
            self.profile = Some(profile.name().to_owned());
        }
        if let Some(allow_stale) = settings.allow_stale {
            self.allow_stale = allow_stale;
        }
    }
}

/// Reads CRLs in DER, one after another, which the CAs in `ders` must have signed.
pub(super) fn verified_crls(crls: &[u8], ders: &[u8]) -> Result<Vec<VerifiedCrl>, StoreError> {
    let anchors = anchors(ders)?.filter(|_| !crls.is_empty());
    let Some(anchors) = anchors else { return Ok(Vec::new()) };
    let read = |der: &Vec<u8>| {
        VerifiedCrl::from_der(&PROVIDER, der, anchors.cas())
            .map_err(|error| StoreError::Failed(error.to_string()))
    };
    blocks(crls)?.iter().map(read).collect()
}

/// The anchors of a list, and the CRLs of the CAs among them, in DER.
#[derive(Clone, Debug, Default)]
pub(super) struct SignerTrust {
    pub(super) anchors: Vec<u8>,
    pub(super) crls: Vec<u8>,
}

impl SignerTrust {
    /// Replaces what is given. New anchors keep only the CRLs of CAs that are still among them.
    pub(super) fn with(
        self,
        anchors: Option<&Vec<u8>>,
        crls: Option<&Vec<u8>>,
    ) -> Result<Self, StoreError> {
        let crls = match (crls, anchors) {
            (Some(own), _) => own.clone(),
            (None, Some(anchors)) => crls_of(&self.crls, anchors)?,
            (None, None) => self.crls,
        };
        Ok(Self { anchors: anchors.cloned().unwrap_or(self.anchors), crls })
    }
}

/// Returns those of `crls` that a CA in `ders` signed.
fn crls_of(crls: &[u8], ders: &[u8]) -> Result<Vec<u8>, StoreError> {
    let anchors = anchors(ders)?.filter(|_| !crls.is_empty());
    let Some(anchors) = anchors else { return Ok(Vec::new()) };
    let mut blocks = blocks(crls)?;
    blocks.retain(|der| VerifiedCrl::from_der(&PROVIDER, der, anchors.cas()).is_ok());
    Ok(blocks.concat())
}

fn blocks(crls: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
    pem_or_der(crls, "X509 CRL").map_err(|error| StoreError::Failed(error.to_string()))
}

pub(super) fn anchors(ders: &[u8]) -> Result<Option<ListAnchors>, StoreError> {
    if ders.is_empty() {
        return Ok(None);
    }
    let anchors = ListAnchors::from_file(&PROVIDER, ders);
    anchors.map(Some).map_err(|error| StoreError::Failed(error.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_testkit::trusted_list::list_ca;

    use super::*;

    #[test]
    fn a_damaged_crl_is_kept_so_that_the_list_is_refused() {
        let anchors = list_ca(1_800_000_000_000).der;
        let former = SignerTrust { anchors: anchors.clone(), crls: b"0\x03\x02\x01\x01".to_vec() };
        let kept = former.clone().with(None, None).unwrap();
        assert_eq!(kept.crls, former.crls);
        assert!(verified_crls(&kept.crls, &kept.anchors).is_err());
    }
}
