//! The list of lists that an entry follows: its stored form, and the rules for a new issue of it.

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{ListAnchors, ListMark, ListOfLists, ListRules, NamedList, VerifiedCrl};
use idgate_xml_list::{import_list_of_lists, recall_list_of_lists};

use super::list_taking::{Refused, lacks_anchor, source_named, unusable};
use super::listed::{SignerTrust, anchors, verified_crls};
use super::x509::sha256;
use super::{TrustChange, TrustRecord};
use crate::list_url::list_url;
use crate::types::{ListFetch, StoreError};

/// A new list of lists for an entry.
#[derive(Clone, Debug)]
pub struct NewListOfLists {
    /// The URL that it was fetched from; `None`: it came from a file.
    pub url: Option<String>,
    /// The list of lists as it was received.
    pub token: Vec<u8>,
    /// The territory whose list the entry follows.
    pub country: String,
    /// The trust anchors for its signer, in DER, one after another. Empty: it has none and is for
    /// tests. `None`: those of the entry's former list of lists.
    pub anchors: Option<Vec<u8>>,
    /// CRLs of the CAs among the anchors. `None`: those of the entry's former list of lists.
    pub crls: Option<Vec<u8>>,
    /// Whether to accept it even if a newer issue was seen.
    pub accept_rollback: bool,
}

/// The stored list of lists of an entry.
#[derive(Clone, Debug)]
pub struct ListOfListsRow {
    /// The name of the entry.
    pub issuer_id: String,
    /// The URL that it was fetched from; `None`: it came from a file.
    pub url: Option<String>,
    /// The territory whose list the entry follows.
    pub country: String,
    /// The organization of its first signer.
    pub organization: Option<String>,
    /// The list of lists as it was received.
    pub token: Vec<u8>,
    /// The hash of the token.
    pub sha256: Vec<u8>,
    /// The trust anchors for its signer, in DER, one after another. Empty: it has none and is for
    /// tests.
    pub anchors: Vec<u8>,
    /// CRLs of the CAs among the anchors.
    pub crls: Vec<u8>,
    /// Whether it serves test-mode sessions only.
    pub test_only: bool,
    /// Its sequence number.
    pub sequence: u64,
    /// The time at which it was issued.
    pub issued_at: UnixMillis,
    /// SHA-256 of its content.
    pub payload_sha256: [u8; 32],
    /// Its own territory, which the first one fixes.
    pub territory: String,
    /// The URL of the list that it names for `country`.
    pub location: String,
    /// The number of lists that it points to.
    pub listed: u64,
    /// The time at which its next issue is due.
    pub next_update: UnixMillis,
    /// The time at which it was accepted.
    pub added_at: UnixMillis,
    /// The state of its fetches; `None`: it came from a file, or was not fetched again yet.
    pub fetch: Option<ListFetch>,
}

impl ListOfListsRow {
    /// Returns the trust anchors for its signer; `None`: it has none.
    ///
    /// # Errors
    /// The certificates are damaged.
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

    fn signer_trust(&self) -> SignerTrust {
        SignerTrust { anchors: self.anchors.clone(), crls: self.crls.clone() }
    }

    /// Returns it as a mark.
    fn mark(&self) -> ListMark {
        ListMark {
            sequence: self.sequence,
            issued_at: self.issued_at,
            payload_sha256: self.payload_sha256,
            seen_at: self.added_at,
        }
    }

    /// Reads the list of lists from the stored token.
    ///
    /// # Errors
    /// The token is damaged.
    pub fn recall(&self) -> Result<ListOfLists, StoreError> {
        let anchors = self.anchors()?;
        recall_list_of_lists(&PROVIDER, &self.token, anchors.as_ref()).map_err(|error| {
            StoreError::Failed(format!(
                "the list of lists of trust entry {}: it {}",
                self.issuer_id, error.why
            ))
        })
    }
}

/// A list of lists that an entry accepts if it is not older than the mark of its source.
pub(super) struct PreparedLists {
    pub(super) row: ListOfListsRow,
    /// The name of its source: the key under which the mark is stored.
    pub(super) source: String,
    /// The list that it names for the entry's territory.
    pub(super) named: NamedList,
    lists: ListOfLists,
    accept_rollback: bool,
}

impl NewListOfLists {
    /// Returns the location and the signers of the list that it names for its territory, before
    /// `change` stores it in the entry called `issuer_id`. `before`: that entry as it is now.
    ///
    /// # Errors
    /// The list of lists is refused.
    pub fn named(
        &self,
        (issuer_id, before): (&str, Option<&TrustRecord>),
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<NamedList, StoreError> {
        let former = before.and_then(|before| before.list_of_lists.as_ref());
        Ok(self.prepare(issuer_id, former, change.of_lists(), now)?.named)
    }

    /// Verifies and reads it for this entry. `former`: the entry's current list of lists.
    ///
    /// # Errors
    /// The list of lists is refused.
    pub(super) fn prepare(
        &self,
        issuer_id: &str,
        former: Option<&ListOfListsRow>,
        (test_only, allow_stale): (bool, bool),
        now: UnixMillis,
    ) -> Result<PreparedLists, Refused> {
        // A former list of lists for tests sets no rules for a live one.
        let former = former.filter(|former| former.test_only == test_only);
        let former_trust = former.map(ListOfListsRow::signer_trust).unwrap_or_default();
        let SignerTrust { anchors, crls } =
            former_trust.with(self.anchors.as_ref(), self.crls.as_ref())?;
        let mut row = ListOfListsRow {
            issuer_id: issuer_id.to_owned(),
            url: self.url.clone(),
            country: self.country.clone(),
            organization: former.and_then(|former| former.organization.clone()),
            token: self.token.clone(),
            sha256: sha256(&self.token).to_vec(),
            anchors,
            crls,
            test_only,
            sequence: 0,
            issued_at: now,
            payload_sha256: [0; 32],
            territory: String::new(),
            location: String::new(),
            listed: 0,
            next_update: now,
            added_at: now,
            fetch: None,
        };
        let lists = import(&row, former, allow_stale, now)?;
        row.organization = row.organization.or_else(|| lists.signer.organization.clone());
        row.sequence = lists.sequence;
        row.issued_at = lists.issued_at;
        row.payload_sha256 = lists.payload_sha256;
        row.territory.clone_from(&lists.territory);
        row.listed = u64::try_from(lists.pointers()).unwrap_or(u64::MAX);
        row.next_update = lists.next_update;
        let mut named = lists.list_of(&self.country).map_err(Refused::of_lists)?;
        named.location = list_url(&named.location).map_err(|why| {
            let country = &self.country;
            Refused::of_lists(unusable(format!("names a URL of the list of {country} that {why}")))
        })?;
        row.location.clone_from(&named.location);
        let (source, accept_rollback) = (source(&row), self.accept_rollback);
        Ok(PreparedLists { row, source, named, lists, accept_rollback })
    }
}

impl PreparedLists {
    /// Returns the new mark of its source, to be stored with it. `mark`: the current one.
    ///
    /// # Errors
    /// It is older than the mark, or has the same number and different content.
    pub(super) fn mark(
        &self,
        mark: Option<&ListMark>,
        now: UnixMillis,
    ) -> Result<ListMark, Refused> {
        mark.map_or(Ok(()), |mark| self.check_newer(mark))?;
        Ok(self.lists.mark(mark, now))
    }

    /// Checks that it is not older than the one in force, which may have another source.
    ///
    /// # Errors
    /// It is older, or has the same number and different content.
    pub(super) fn check_in_force(&self, former: Option<&ListOfListsRow>) -> Result<(), Refused> {
        let former = former.filter(|former| former.test_only == self.row.test_only);
        former.map_or(Ok(()), |former| self.check_newer(&former.mark()))
    }

    fn check_newer(&self, mark: &ListMark) -> Result<(), Refused> {
        match self.accept_rollback {
            true => Ok(()),
            false => self.lists.check_newer(mark).map_err(Refused::of_lists),
        }
    }

    /// Whether its content is that of `former`: it is the same token, or was only signed again.
    pub(super) fn says_the_same(&self, former: &ListOfListsRow) -> bool {
        former.payload_sha256 == self.row.payload_sha256
    }
}

fn import(
    row: &ListOfListsRow,
    former: Option<&ListOfListsRow>,
    allow_stale: bool,
    now: UnixMillis,
) -> Result<ListOfLists, Refused> {
    let anchors = row.anchors()?;
    let crls = row.verified_crls()?;
    let mut rules = match &anchors {
        Some(anchors) => ListRules::new(anchors),
        None if row.test_only => ListRules::for_tests(),
        None => return Err(Refused::Store(lacks_anchor("--lotl"))),
    };
    // The signer of the stored list of lists was valid when that was accepted.
    let in_force = former.filter(|former| former.sha256 == row.sha256).map(ListOfListsRow::mark);
    rules.test_only = row.test_only;
    rules.crls = &crls;
    rules.territory = former.map(|former| former.territory.as_str());
    rules.organization = row.organization.as_deref();
    rules.allow_stale = allow_stale;
    rules.mark = in_force.as_ref();
    import_list_of_lists(&PROVIDER, &row.token, &rules, now).map_err(Refused::of_lists)
}

/// Returns the name of its source, under which the mark is stored.
fn source(row: &ListOfListsRow) -> String {
    let organization = row.organization.as_deref().unwrap_or_default();
    match &row.url {
        // The same URL may have been that of a list.
        Some(url) => source_named(&format!("list of lists {url}"), row.test_only),
        None => source_named(&format!("list of lists O={organization}"), row.test_only),
    }
}
