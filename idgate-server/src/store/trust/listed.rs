//! European trusted lists of trust entries: what is kept of them, and what a new one has to satisfy.
//! The token is kept as it came; what an entry takes from it is read from there each time.

use std::sync::Arc;

use idgate_core::TrustEntry;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::status::VerifiedCrl;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{
    ListAnchors, ListMark, ListProfile, ListRules, ListTerms, ListType, TrustedList,
    TrustedListError, TrustedListErrorKind, import_trusted_list, pem_or_der,
};
use serde_json::json;

use super::super::interface::{ListFetch, Refreshed, StoreError};
use super::x509::sha256;
use crate::limits::MAX_LIST_SOURCES;

/// A list that an entry is to take.
#[derive(Clone, Debug)]
pub struct NewTrustedList {
    /// Where it was fetched; `None`: from a file.
    pub url: Option<String>,
    /// What was fetched or read.
    pub token: Vec<u8>,
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
    pub(in crate::store) fn new(
        row: ListRow,
        fetch: Option<ListFetch>,
    ) -> Result<Self, StoreError> {
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

/// A list that may be stored once its source's mark was looked at.
pub(in crate::store) struct Prepared {
    pub(in crate::store) row: ListRow,
    /// The key of its mark.
    pub(in crate::store) source: String,
    list: TrustedList,
    accept_rollback: bool,
}

impl ListRow {
    /// The certificates that vouch for its signer; `None`: nothing does.
    pub fn anchors(&self) -> Result<Option<ListAnchors>, StoreError> {
        anchors(&self.anchors)
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
    pub(in crate::store) fn recall(&self) -> Result<TrustedList, StoreError> {
        TrustedList::recall(&PROVIDER, &self.token, self.added_at).map_err(|error| {
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
    pub(in crate::store) fn set(&mut self, settings: &ListSettings) {
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

impl NewTrustedList {
    /// Reads it for this entry, whose list was `former` so far. The mark of its source is looked at by
    /// [`Prepared::mark`].
    ///
    /// # Errors
    /// It is refused.
    pub(in crate::store) fn prepare(
        &self,
        issuer_id: &str,
        (settings, test_only): (&ListSettings, bool),
        former: Option<&ListRow>,
        now: UnixMillis,
    ) -> Result<Prepared, Refused> {
        if former.is_some_and(|former| test_only && !former.test_only) {
            return Err(Refused::Store(StoreError::Failed(format!(
                "this list of {issuer_id} would replace a live one by one for tests; `idgate trust \
                 remove` the list in force first"
            ))));
        }
        let kept = |own: &Option<Vec<u8>>, of: fn(&ListRow) -> &Vec<u8>| {
            own.clone().or_else(|| former.map(of).cloned()).unwrap_or_default()
        };
        let mut row = ListRow {
            issuer_id: issuer_id.to_owned(),
            url: self.url.clone(),
            list_type: String::new(),
            organization: None,
            token: self.token.clone(),
            sha256: sha256(&self.token).to_vec(),
            anchors: kept(&self.anchors, |former| &former.anchors),
            crls: kept(&self.crls, |former| &former.crls),
            providers: former.map_or_else(|| "[]".into(), |former| former.providers.clone()),
            profile: former.and_then(|former| former.profile.clone()),
            allow_stale: former.is_some_and(|former| former.allow_stale),
            test_only,
            sequence: 0,
            listed: 0,
            next_update: now,
            added_at: now,
        };
        row.set(settings);
        // What a list for tests was is no rule for a live one.
        let former = former.filter(|former| former.test_only == test_only);
        let list = self.import(&row, former, now)?;
        row.list_type = list.list_type.name().to_owned();
        let organization = former.and_then(|former| former.organization.clone());
        row.organization = organization.or_else(|| list.signer.organization.clone());
        row.sequence = list.sequence;
        row.listed = u64::try_from(list.providers.len()).unwrap_or(u64::MAX);
        row.next_update = list.next_update;
        let source = source(&row);
        Ok(Prepared { row, source, list, accept_rollback: self.accept_rollback })
    }

    fn import(
        &self,
        row: &ListRow,
        former: Option<&ListRow>,
        now: UnixMillis,
    ) -> Result<TrustedList, Refused> {
        let anchors = anchors(&row.anchors)?;
        let crls = match &anchors {
            Some(anchors) => crls(&row.crls, anchors)?,
            None => Vec::new(),
        };
        let mut rules = match &anchors {
            Some(anchors) => ListRules::new(anchors),
            None if row.test_only => ListRules::for_tests(),
            None => return Err(Refused::Store(lacks_anchor())),
        };
        rules.test_only = row.test_only;
        rules.crls = &crls;
        rules.list_type = former.and_then(|former| ListType::from_name(&former.list_type));
        rules.organization = former.and_then(|former| former.organization.as_deref());
        rules.allow_stale = row.allow_stale;
        import_trusted_list(&PROVIDER, &self.token, &rules, now).map_err(Refused::List)
    }
}

impl Prepared {
    /// The mark that is to be stored with it, if `former` is the one of its source so far.
    ///
    /// # Errors
    /// It is an older list, or another one of the same number.
    pub(in crate::store) fn mark(
        &self,
        former: Option<&ListMark>,
        now: UnixMillis,
    ) -> Result<ListMark, Refused> {
        if let Some(former) = former.filter(|_| !self.accept_rollback) {
            self.list.check_newer(former).map_err(Refused::List)?;
        }
        Ok(self.list.mark(former, now))
    }

    /// Whether it is the one that is in force.
    pub(in crate::store) fn is_same_as(&self, former: Option<&ListRow>) -> bool {
        former.is_some_and(|former| former.sha256 == self.row.sha256)
    }
}

/// Refuses another source than those that there are when these are as many as allowed.
pub(in crate::store) fn check_sources(count: usize) -> Result<(), StoreError> {
    if count <= MAX_LIST_SOURCES {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "there are {MAX_LIST_SOURCES} sources of trusted lists already; remove one first"
    )))
}

/// Why a list is not taken.
pub(in crate::store) enum Refused {
    List(TrustedListError),
    Store(StoreError),
}

impl Refused {
    /// What a refresh that ends so is counted as.
    pub(in crate::store) fn outcome(self) -> Result<Refreshed, StoreError> {
        match self {
            Self::List(error) if error.kind == TrustedListErrorKind::Rollback => {
                Ok(Refreshed::Rollback(error.to_string()))
            }
            Self::List(error) => Ok(Refreshed::Refused(error.to_string())),
            Self::Store(error) => Err(error),
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Tampering is told apart from mistakes.
impl From<Refused> for StoreError {
    fn from(why: Refused) -> Self {
        match why {
            Refused::List(error) if error.kind.is_integrity() => Self::Damaged(error.to_string()),
            Refused::List(error) => Self::Failed(error.to_string()),
            Refused::Store(error) => error,
        }
    }
}

fn lacks_anchor() -> StoreError {
    StoreError::Failed(
        "--trusted-list needs --list-signer-ca FILE, or --test: without it anybody could have made \
         the list"
            .into(),
    )
}

/// What is remembered of lists for tests says nothing about live ones: anybody may have made them.
fn source(row: &ListRow) -> String {
    let test = if row.test_only { "test " } else { "" };
    match &row.url {
        Some(url) => format!("{test}{url}"),
        None => {
            let organization = row.organization.as_deref().unwrap_or_default();
            format!("{test}{} O={organization}", row.list_type)
        }
    }
}

fn anchors(ders: &[u8]) -> Result<Option<ListAnchors>, StoreError> {
    if ders.is_empty() {
        return Ok(None);
    }
    let anchors = ListAnchors::from_file(&PROVIDER, ders);
    anchors.map(Some).map_err(|error| StoreError::Failed(error.to_string()))
}

fn crls(ders: &[u8], anchors: &ListAnchors) -> Result<Vec<VerifiedCrl>, StoreError> {
    if ders.is_empty() {
        return Ok(Vec::new());
    }
    let blocks = pem_or_der(ders, "X509 CRL");
    let blocks = blocks.map_err(|error| StoreError::Failed(error.to_string()))?;
    let read = |der: &Vec<u8>| {
        VerifiedCrl::from_der(&PROVIDER, der, anchors.cas())
            .map_err(|error| StoreError::Failed(error.to_string()))
    };
    blocks.iter().map(read).collect()
}
