//! The import of a trusted list into a trust entry: roots and signers of its providers for the
//! types that the entry names, and signers of status for each provider's own credentials.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::TrustedList;
use super::entities::{ListedProvider, ListedService};
use crate::ids::{AGE_DOC_TYPE, DocType};
use crate::time::UnixMillis;
use crate::trust::anchors::TrustAnchor;
use crate::trust::entry::TrustEntry;
use crate::trust::listing::{
    ListFacts, ListProfile, ListRole, ListType, Listing, OfList, TrustServiceProvider, member_state,
};
use crate::trust::pinned_signer::PinnedSigner;

/// The document type of the only kind of credential that an mDL list covers.
const MDL: &str = "org.iso.18013.5.1.mDL";
/// The type names of PID (PID Rulebook), as SD-JWT VC and as mdoc.
const PID_VCT: &str = "urn:eudi:pid:1";
const PID_DOC_TYPE: &str = "eu.europa.ec.eudi.pid.1";

/// How an entry imports a list.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListTerms {
    /// The source of the list, for people, for example its URL; `None`: its operator's name.
    pub source: Option<String>,
    /// The registration identifiers of the wanted providers; empty: all.
    pub providers: Vec<String>,
    /// The mark of signers below listed CAs; `None`: the default of the list's type.
    pub profile: Option<ListProfile>,
    /// Whether the list stays in force after the next one is due.
    pub allow_stale: bool,
    /// When the list of lists that names its signers is due: the list is in force no longer than
    /// that.
    pub named_until: Option<UnixMillis>,
    /// Whether the imported certificates are for test-mode sessions only.
    pub test_only: bool,
}

impl TrustEntry {
    /// Imports `list`: roots and signers for the document types and credential types that the entry
    /// names, of the countries that it names. Set those before.
    ///
    /// If the entry names no types, a PID list sets the PID's own types, an mDL list the mDL's, the
    /// age list the proof of age. A list of public bodies or of qualified providers then imports
    /// nothing, because it does not say which types its providers issue. A list of qualified
    /// providers also imports nothing for identities and proofs of age, whose issuers have their
    /// own lists. An entry never accepts a type that it does not name.
    pub fn take_list(&mut self, list: &TrustedList, terms: &ListTerms) {
        self.follows_list = true;
        self.name_types(list.list_type);
        let facts = Arc::new(ListFacts {
            name: terms.source.clone().unwrap_or_else(|| list.operator.clone()),
            list_type: list.list_type,
            sequence: list.sequence,
            until: (!terms.allow_stale).then(|| {
                terms.named_until.map_or(list.next_update, |named| named.min(list.next_update))
            }),
            profile: terms.profile.unwrap_or(ListProfile::of(list.list_type)),
        });
        let mut feed = Feed::new(self, list.list_type, facts, terms.test_only);
        for listed in list.providers.iter().filter(|listed| self.wants(&listed.provider, terms)) {
            feed.provider(listed);
        }
        self.roots.extend(feed.roots.all);
        self.sd_jwt_roots.extend(feed.sd_jwt_roots.all);
        self.status_roots.extend(feed.status_roots.all);
        self.pinned_signers.extend(feed.signers.all);
        self.sd_jwt_signers.extend(feed.sd_jwt_signers.all);
        self.status_signers.extend(feed.status_signers.all);
    }

    /// Removes everything that trusted lists added, before the next version of one is imported. The
    /// types that the entry names stay.
    pub fn forget_lists(&mut self) {
        self.follows_list = false;
        for roots in [&mut self.roots, &mut self.sd_jwt_roots, &mut self.status_roots] {
            roots.retain(|root| root.listing().is_none());
        }
        for signers in
            [&mut self.pinned_signers, &mut self.sd_jwt_signers, &mut self.status_signers]
        {
            signers.retain(|signer| !signer.is_listed());
        }
    }

    fn name_types(&mut self, list_type: ListType) {
        match list_type {
            ListType::Pid if self.vct.is_empty() && self.doc_types.is_empty() => {
                self.vct.push(PID_VCT.into());
                self.doc_types.push(DocType::new(PID_DOC_TYPE));
            }
            _ if self.doc_types.is_empty() => {
                self.doc_types.extend(only_doc_type(list_type).map(DocType::new));
            }
            _ => {}
        }
    }

    fn wants(&self, provider: &TrustServiceProvider, terms: &ListTerms) -> bool {
        let named = |identifier: &String| terms.providers.contains(identifier);
        let country = provider.country.as_deref();
        let here = |own: &String| country.is_some_and(|country| member_state(own) == country);
        (terms.providers.is_empty() || provider.identifiers.iter().any(named))
            && (self.countries.is_empty() || self.countries.iter().any(here))
    }
}

/// The document type that such a list covers, if there is only one.
const fn only_doc_type(list_type: ListType) -> Option<&'static str> {
    match list_type {
        ListType::Mdl => Some(MDL),
        ListType::Av => Some(AGE_DOC_TYPE),
        _ => None,
    }
}

/// Whether credentials of this type come from issuers that lists of this type never name, whatever
/// the entry names.
#[cfg_attr(feature = "shell", visibility::make(pub))]
pub(crate) fn is_of_another_list(list_type: ListType, credential_type: &str) -> bool {
    let is_pid = ["urn:eudi:pid:", "eu.europa.ec.eudi.pid."];
    let is_pid = is_pid.iter().any(|start| credential_type.starts_with(start));
    list_type == ListType::Qeaa && (is_pid || credential_type == AGE_DOC_TYPE)
}

/// The result of the import so far.
struct Feed {
    facts: Arc<ListFacts>,
    test_only: bool,
    /// The types for roots and signers of mdocs; `None`: the entry accepts no mdocs of this list.
    doc_types: Option<Vec<DocType>>,
    takes_sd_jwts: bool,
    /// The types for status roots: the credentials whose status they may sign.
    status_doc_types: Vec<DocType>,
    roots: Taken<TrustAnchor>,
    sd_jwt_roots: Taken<TrustAnchor>,
    status_roots: Taken<TrustAnchor>,
    signers: Taken<PinnedSigner>,
    sd_jwt_signers: Taken<PinnedSigner>,
    status_signers: Taken<PinnedSigner>,
}

impl Feed {
    fn new(
        entry: &TrustEntry,
        list_type: ListType,
        facts: Arc<ListFacts>,
        test_only: bool,
    ) -> Self {
        let only: Vec<DocType> = only_doc_type(list_type).map(DocType::new).into_iter().collect();
        let doc_types = match only.first() {
            Some(only_one) => entry.doc_types.contains(only_one).then(|| only.clone()),
            None => {
                let own = |doc_type: &&DocType| !is_of_another_list(list_type, doc_type.as_str());
                let own: Vec<DocType> = entry.doc_types.iter().filter(own).cloned().collect();
                (!own.is_empty()).then_some(own)
            }
        };
        Self {
            facts,
            test_only,
            doc_types,
            takes_sd_jwts: only.is_empty()
                && !entry.vct.is_empty()
                && !entry.vct.iter().any(|vct| is_of_another_list(list_type, vct)),
            status_doc_types: only,
            roots: Taken::default(),
            sd_jwt_roots: Taken::default(),
            status_roots: Taken::default(),
            signers: Taken::default(),
            sd_jwt_signers: Taken::default(),
            status_signers: Taken::default(),
        }
    }

    fn provider(&mut self, listed: &ListedProvider) {
        for service in listed.services.iter().filter(|service| service.skipped.is_none()) {
            match service.role {
                Some(ListRole::Issuance) => self.issuance(&listed.provider, service),
                Some(ListRole::Revocation) => self.revocation(&listed.provider, service),
                None => {}
            }
        }
    }

    fn issuance(&mut self, provider: &Arc<TrustServiceProvider>, service: &ListedService) {
        let listing = || Listing::new(self.facts.clone(), provider.clone(), service.from);
        let test_only = self.test_only;
        if let Some(doc_types) = &self.doc_types {
            self.roots.add(&service.roots, listing, doc_types, test_only);
            self.signers.add(&service.signers, listing, doc_types, test_only);
        }
        if self.takes_sd_jwts {
            self.sd_jwt_roots.add(&service.roots, listing, &[], test_only);
            self.sd_jwt_signers.add(&service.signers, listing, &[], test_only);
        }
    }

    fn revocation(&mut self, provider: &Arc<TrustServiceProvider>, service: &ListedService) {
        let listing = || Listing::new(self.facts.clone(), provider.clone(), service.from);
        let (doc_types, test_only) = (&self.status_doc_types, self.test_only);
        self.status_roots.add(&service.roots, listing, doc_types, test_only);
        self.status_signers.add(&service.signers, listing, doc_types, test_only);
    }
}

/// A certificate that a list names, possibly for several services.
trait Listed: Clone {
    fn hash(&self) -> [u8; 32];
    /// The list's statements about it, the types that it may sign for, and whether it is for tests
    /// only.
    fn terms(&mut self) -> (&mut OfList, &mut Vec<DocType>, &mut bool);
}

impl Listed for TrustAnchor {
    fn hash(&self) -> [u8; 32] {
        self.sha256()
    }

    fn terms(&mut self) -> (&mut OfList, &mut Vec<DocType>, &mut bool) {
        (&mut self.of_list, &mut self.doc_types, &mut self.test_only)
    }
}

impl Listed for PinnedSigner {
    fn hash(&self) -> [u8; 32] {
        self.sha256()
    }

    fn terms(&mut self) -> (&mut OfList, &mut Vec<DocType>, &mut bool) {
        (&mut self.of_list, &mut self.doc_types, &mut self.test_only)
    }
}

/// Certificates, each once, however many services have it.
struct Taken<C> {
    all: Vec<C>,
    places: BTreeMap<[u8; 32], usize>,
}

impl<C> Default for Taken<C> {
    fn default() -> Self {
        Self { all: Vec::new(), places: BTreeMap::new() }
    }
}

impl<C: Listed> Taken<C> {
    fn add(
        &mut self,
        certificates: &[C],
        listing: impl Fn() -> Listing,
        doc_types: &[DocType],
        test_only: bool,
    ) {
        for certificate in certificates {
            let at = *self.places.entry(certificate.hash()).or_insert(self.all.len());
            if let Some(known) = self.all.get_mut(at) {
                known.terms().0.join(listing());
                continue;
            }
            let mut listed = certificate.clone();
            let (of_list, own_types, own_test_only) = listed.terms();
            *of_list = OfList::new(listing());
            *own_types = doc_types.to_vec();
            *own_test_only = test_only;
            self.all.push(listed);
        }
    }
}
