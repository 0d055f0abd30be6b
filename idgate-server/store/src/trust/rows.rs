//! Assembles an entry from its rows, for either database.

use idgate_core::crypto::PublicKey;
use idgate_core::shell::Oid;
use idgate_core::trust::{DeviceResponseDocuments, OnUnknownRevocation, RevocationPolicy};

use super::super::types::StoreError;
use super::x509::{self, KEY, MaterialRow, Materials, TrustList};
use super::{ListOfListsRow, TrustKey, TrustRecord, TrustedListRecord};

/// The row of an entry.
pub(crate) struct EntryRow {
    pub(crate) issuer_id: String,
    pub(crate) iss: Option<String>,
    pub(crate) lists: [String; 4],
    pub(crate) country: Option<String>,
    pub(crate) revocation: String,
    pub(crate) ekus: Option<String>,
    pub(crate) status_max_age_days: Option<u32>,
    pub(crate) issuing_country_unbound: bool,
    pub(crate) aki: bool,
    pub(crate) device_response_documents: String,
    pub(crate) claim_paths: Option<String>,
    pub(crate) etsi_tl: bool,
    pub(crate) sd_jwt_ekus: Option<String>,
    pub(crate) on_unknown_revocation: String,
}

impl TrustRecord {
    /// Assembles an entry from its row, its material (oldest first), its lists and its trusted
    /// list.
    pub(crate) fn assemble(
        entry: EntryRow,
        rows: &[MaterialRow],
        lists: Vec<TrustList>,
        (trusted_list, list_of_lists): (Option<TrustedListRecord>, Option<ListOfListsRow>),
    ) -> Result<Self, StoreError> {
        let EntryRow { issuer_id, iss, lists: texts, country, revocation, ekus, .. } = entry;
        let damaged = || StoreError::Failed(format!("trust entry {issuer_id} cannot be read"));
        let list = |text: &str| serde_json::from_str::<Vec<String>>(text).map_err(|_| damaged());
        let [vct, doc_types, namespaces, claims] = &texts;
        let eku = |text: &String| Oid::parse(text).ok_or_else(damaged);
        let oids = |text: String| list(&text)?.iter().map(eku).collect::<Result<_, _>>();
        let ekus = ekus.map(oids).transpose()?;
        let sd_jwt_ekus = entry.sd_jwt_ekus.map(oids).transpose()?;
        let materials = Materials { issuer_id: &issuer_id, rows };
        let claim_paths = entry.claim_paths.as_deref().map(serde_json::from_str);
        let documents = DeviceResponseDocuments::from_name(&entry.device_response_documents);
        let on_unknown = OnUnknownRevocation::from_name(&entry.on_unknown_revocation);
        let mut record = Self {
            iss,
            vct: list(vct)?,
            doc_types: list(doc_types)?,
            namespaces: list(namespaces)?,
            claims: list(claims)?,
            country,
            revocation: RevocationPolicy::from_name(&revocation).ok_or_else(damaged)?,
            on_unknown_revocation: on_unknown.ok_or_else(damaged)?,
            status_max_age_days: entry.status_max_age_days,
            issuing_country_unbound: entry.issuing_country_unbound,
            ekus,
            sd_jwt_ekus: sd_jwt_ekus.unwrap_or_default(),
            keys: keys(materials)?,
            pinned_signers: x509::pinned_signers(materials)?,
            crls: Vec::new(),
            sd_jwt_signers: x509::sd_jwt_signers(materials)?,
            sd_jwt_roots: x509::sd_jwt_roots(materials)?,
            claim_paths: claim_paths.transpose().map_err(|_| damaged())?.unwrap_or_default(),
            aki: entry.aki,
            device_response_documents: documents.ok_or_else(damaged)?,
            lists,
            trusted_list,
            list_of_lists,
            etsi_tl: entry.etsi_tl,
            status_roots: x509::status_roots(materials)?,
            roots: x509::roots(materials)?,
            issuer_id,
        };
        record.take_crls(rows);
        Ok(record)
    }
}

fn keys(materials: Materials<'_>) -> Result<Vec<TrustKey>, StoreError> {
    let key = |row: &MaterialRow| {
        let key = PublicKey::from_spki_der(&row.der).map_err(|error| {
            StoreError::Failed(format!(
                "a key of trust entry {} cannot be read: {error}",
                materials.issuer_id
            ))
        })?;
        let (kid, test_only) = (row.kid.clone(), row.test_only);
        Ok(TrustKey { key, kid, test_only, added_at: row.added_at })
    };
    materials.of_kind(KEY).map(key).collect()
}
