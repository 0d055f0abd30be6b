//! European trusted lists of trust entries: what is kept of them. The token is kept as it came; what an
//! entry takes from it is read from there each time.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ListAnchors, ListProfile, ListTerms, TrustEntry, TrustedList, VerifiedCrl, pem_or_der,
};
use idgate_core::trust::ListType;
use serde_json::json;

use super::super::types::{ListFetch, StoreError};

/// A list that an entry is to take.
#[derive(Clone, Debug)]
pub struct NewTrustedList {
    /// Where it was fetched; `None`: from a file.
    pub url: Option<String>,
    /// What was fetched or read.
    pub token: Vec<u8>,
    /// The type that it must be of, where the entry follows no list yet; a national list in XML has services of several
    /// types.
    pub list_type: Option<ListType>,
    /// The certificates that vouch for its signer, in DER, one after another; empty: none, for tests.
    /// `None`: those of the list before.
    pub anchors: Option<Vec<u8>>,
    /// CRLs of the CAs among them, in DER, one after another. `None`: those of the list before.
    pub crls: Option<Vec<u8>>,
    /// Take it although a newer one was seen.
    pub accept_rollback: bool,
}

/// How an entry takes its list. Absent attributes stay as they are.
#[derive(Clone, Debug, Default)]
pub struct ListSettings {
    /// Only providers with one of these identifiers.
    pub providers: Option<Vec<String>>,
    /// What marks signers below listed CAs.
    pub profile: Option<ListProfile>,
    /// The list goes on vouching when its next one is due.
    pub allow_stale: Option<bool>,
}

impl ListSettings {
    /// Whether nothing is to change.
    pub const fn is_empty(&self) -> bool {
        self.providers.is_none() && self.profile.is_none() && self.allow_stale.is_none()
    }
}

/// The list of an entry, as operators see it.
#[derive(Clone, Debug)]
pub struct TrustedListRecord {
    /// What is stored of it.
    pub row: ListRow,
    /// The list itself.
    pub list: Arc<TrustedList>,
    /// How fetching it goes; `None`: it came from a file, or nobody fetched it yet.
    pub fetch: Option<ListFetch>,
}

impl TrustedListRecord {
    /// From what is stored.
    ///
    /// # Errors
    /// The token is damaged.
    pub(crate) fn new(row: ListRow, fetch: Option<ListFetch>) -> Result<Self, StoreError> {
        let list = Arc::new(row.recall()?);
        Ok(Self { row, list, fetch })
    }

    /// How many certificates it has.
    pub fn certificates(&self) -> usize {
        let services = self.list.providers.iter().flat_map(|listed| &listed.services);
        services.map(|service| service.certificates.len()).sum()
    }
}

/// A row of a list.
#[derive(Clone, Debug)]
pub struct ListRow {
    /// The entry.
    pub issuer_id: String,
    /// Where it comes from; `None`: from a file.
    pub url: Option<String>,
    /// What it lists.
    pub list_type: String,
    /// The organization of its signer.
    pub organization: Option<String>,
    /// As it came.
    pub token: Vec<u8>,
    /// Of the token.
    pub sha256: Vec<u8>,
    /// What vouches for its signer, in DER, one after another; empty: nothing, it is for tests.
    pub anchors: Vec<u8>,
    /// CRLs of these.
    pub crls: Vec<u8>,
    /// Identifiers, as a JSON array; empty: all providers.
    pub providers: String,
    /// What marks signers below listed CAs.
    pub profile: Option<String>,
    /// It goes on vouching when its next one is due.
    pub allow_stale: bool,
    /// What it brings serves test-mode sessions only.
    pub test_only: bool,
    /// Its number.
    pub sequence: u64,
    /// How many providers it has.
    pub listed: u64,
    /// When its next one is due.
    pub next_update: UnixMillis,
    /// When it was imported.
    pub added_at: UnixMillis,
}

impl ListRow {
    /// The certificates that vouch for its signer; `None`: nothing does.
    pub fn anchors(&self) -> Result<Option<ListAnchors>, StoreError> {
        anchors(&self.anchors)
    }

    /// Its CRLs.
    ///
    /// # Errors
    /// One of them cannot be read, or is of none of the CAs that vouch for its signer.
    pub fn verified_crls(&self) -> Result<Vec<VerifiedCrl>, StoreError> {
        let anchors = self.anchors()?.filter(|_| !self.crls.is_empty());
        let Some(anchors) = anchors else { return Ok(Vec::new()) };
        let blocks = pem_or_der(&self.crls, "X509 CRL");
        let blocks = blocks.map_err(|error| StoreError::Failed(error.to_string()))?;
        let read = |der: &Vec<u8>| {
            VerifiedCrl::from_der(&PROVIDER, der, anchors.cas())
                .map_err(|error| StoreError::Failed(error.to_string()))
        };
        blocks.iter().map(read).collect()
    }

    /// Who may be taken of it.
    pub fn provider_ids(&self) -> Vec<String> {
        serde_json::from_str(&self.providers).unwrap_or_default()
    }

    /// What marks signers below its CAs.
    pub fn list_profile(&self) -> Option<ListProfile> {
        self.profile.as_deref().and_then(ListProfile::from_name)
    }

    /// The list in it.
    pub(crate) fn recall(&self) -> Result<TrustedList, StoreError> {
        let anchors = self.anchors()?;
        let taken_as = (ListType::from_name(&self.list_type), anchors.as_ref());
        idgate_xml_list::recall(&PROVIDER, &self.token, taken_as, self.added_at).map_err(|error| {
            StoreError::Failed(format!("the list of trust entry {}: {error}", self.issuer_id))
        })
    }

    /// Gives `entry` what `list`, which is that of this row, brings.
    pub(super) fn feed(&self, list: &TrustedList, entry: &mut TrustEntry) {
        let mut terms = ListTerms::default();
        terms.source.clone_from(&self.url);
        terms.providers = self.provider_ids();
        terms.profile = self.list_profile();
        terms.allow_stale = self.allow_stale;
        terms.test_only = self.test_only;
        entry.take_list(list, &terms);
    }

    /// With other settings.
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

pub(super) fn anchors(ders: &[u8]) -> Result<Option<ListAnchors>, StoreError> {
    if ders.is_empty() {
        return Ok(None);
    }
    let anchors = ListAnchors::from_file(&PROVIDER, ders);
    anchors.map(Some).map_err(|error| StoreError::Failed(error.to_string()))
}
