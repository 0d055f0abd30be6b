//! The content of a trusted list in a form other than JSON, for example XML. The rules about
//! signers, dates and numbers are those of every list.

use alloc::string::String;
use alloc::vec::Vec;

use super::entities::{Entities, ListedService, Misnamed};
use super::error::{TrustedListError, unusable};
use super::gathered::{Gathered, Keys};
use super::issue::Issue;
use super::scheme::Scheme;
use super::{ListSigner, TrustedList};
use crate::crypto::CryptoProvider;
use crate::limits::{MAX_CERTIFICATES, MAX_LIST_PROVIDERS, MAX_LIST_SEQUENCE, MAX_LIST_SERVICES};
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::listing::{ListRole, ListType, TrustServiceProvider, member_state};

/// The issue of a list.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadScheme {
    /// The sequence number.
    pub sequence: u64,
    /// The names of its publisher, the English ones first.
    pub operators: Vec<String>,
    /// `SchemeTerritory`; empty where the list has none.
    pub territory: String,
    /// The time when it was issued.
    pub issued_at: UnixMillis,
    /// The time when the next one is due.
    pub next_update: UnixMillis,
}

/// The content of a list in a form other than JSON.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadList {
    /// Its kind.
    pub list_type: ListType,
    /// The attributes of this issue.
    pub scheme: ReadScheme,
    /// Its providers, with only the services of its type.
    pub providers: Vec<ReadProvider>,
    /// The number of its services of other types.
    pub other_services: usize,
    /// SHA-256 of the certificates that it announces for its next versions.
    pub announced_signers: Vec<[u8; 32]>,
}

/// A provider, with its services.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadProvider {
    /// Its names, the English ones first.
    pub names: Vec<String>,
    /// Its registration identifiers.
    pub identifiers: Vec<String>,
    /// The code of its state, in the form of lists or of certificates.
    pub country: Option<String>,
    /// The services that issue credentials.
    pub services: Vec<ReadService>,
}

/// A service that issues credentials.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadService {
    /// The time from which its status counts; `None`: the text is not a date and time.
    pub from: Option<UnixMillis>,
    /// Whether its status is one that counts.
    pub in_force: bool,
    /// Whether it, or its provider, has a critical extension; none is supported.
    pub has_critical: bool,
    /// Its certificates, in DER.
    pub certificates: Vec<Vec<u8>>,
}

impl ReadScheme {
    /// Returns the issue for the rules of every list. The country of a signer below a CA is not
    /// compared.
    pub(super) fn issue(&self) -> Result<Issue, TrustedListError> {
        if !(1..=MAX_LIST_SEQUENCE).contains(&self.sequence) {
            return Err(unusable("has a number that is not from 1 to 2^53 - 1"));
        }
        Ok(Issue {
            sequence: self.sequence,
            operators: self.operators.clone(),
            territory: self.territory.clone(),
            binds_country: false,
            issued_at: self.issued_at,
            next_update: self.next_update,
        })
    }
}

impl ReadList {
    pub(super) fn scheme(&self) -> Result<Scheme, TrustedListError> {
        let issue = self.scheme.issue()?;
        Ok(Scheme { list_type: self.list_type, issue, departures: Vec::new() })
    }

    pub(super) fn with_signer(
        self,
        provider: &CryptoProvider,
        (signer, payload_sha256): (ListSigner, [u8; 32]),
        now: UnixMillis,
    ) -> Result<TrustedList, TrustedListError> {
        let misnamed = Misnamed::default();
        let mut entities =
            Entities { provider, list_type: self.list_type, now, ignored: 0, misnamed };
        let providers = entities.take(self.providers)?;
        Ok(TrustedList {
            list_type: self.list_type,
            sequence: self.scheme.sequence,
            operator: self.scheme.operators.into_iter().next().unwrap_or_default(),
            territory: self.scheme.territory,
            issued_at: self.scheme.issued_at,
            next_update: self.scheme.next_update,
            signer,
            payload_sha256,
            providers,
            warnings: entities.misnamed.warning().into_iter().collect(),
            ignored_members: entities.ignored,
            other_services: self.other_services,
            announced_signers: self.announced_signers,
        })
    }
}

impl Entities<'_> {
    /// Returns all providers. Entries of the same provider are merged.
    fn take(
        &mut self,
        read: Vec<ReadProvider>,
    ) -> Result<Vec<super::ListedProvider>, TrustedListError> {
        if read.len() > MAX_LIST_PROVIDERS {
            return Err(unusable("has more than 2000 providers"));
        }
        let mut gathered = Gathered::default();
        for (place, one) in read.into_iter().enumerate() {
            if one.services.len() > MAX_LIST_SERVICES {
                return Err(unusable("has a provider with more than 20 services"));
            }
            let provider = TrustServiceProvider {
                name: one.names.first().cloned().unwrap_or_default(),
                identifiers: one.identifiers,
                country: one.country.as_deref().map(member_state),
                names: one.names,
                place,
            };
            let mut withdrawn = Keys::new();
            let services: Result<Vec<ListedService>, _> =
                one.services.iter().map(|service| self.listed(service, &mut withdrawn)).collect();
            let services = services?;
            self.misnamed.look_at(&provider, &services);
            gathered.add(provider, services, withdrawn);
        }
        Ok(gathered.finish())
    }

    fn listed(
        &self,
        read: &ReadService,
        withdrawn: &mut Keys,
    ) -> Result<ListedService, TrustedListError> {
        if read.certificates.len() > MAX_CERTIFICATES {
            return Err(unusable("has a service with more than 10 certificates"));
        }
        let skipped = match read.from {
            _ if read.has_critical => Some("has a critical extension that is not known"),
            _ if !read.in_force => Some("is withdrawn, or has a status that is not known"),
            None => Some("has a StatusStartingTime that is not a date and time"),
            Some(_) if read.certificates.is_empty() => {
                Some("names no certificate, and a name is not a key")
            }
            Some(_) => None,
        };
        let mut listed = ListedService {
            role: Some(ListRole::Issuance),
            from: read.from.unwrap_or_default(),
            skipped,
            certificates: Vec::new(),
            roots: Vec::new(),
            signers: Vec::new(),
        };
        for der in &read.certificates {
            if !read.in_force
                && let Ok(parsed) = Certificate::parse(der)
            {
                withdrawn.insert(parsed.spki().to_vec());
            }
            self.certificate(der, &mut listed);
        }
        Ok(listed)
    }
}
