//! European trusted lists: lists of trusted entities in JSON (ETSI TS 119 602), signed as compact
//! JAdES. The list is authenticated as a whole. Then each provider's certificates become roots,
//! signers or signers of status, in the role that the list gives them. A reader of another form
//! creates a [`SignedList`] and then a [`ReadList`], which the same rules apply to.

mod anchors;
mod entities;
mod envelope;
mod error;
mod feed;
mod gathered;
mod issue;
mod list_of_lists;
mod read_list;
mod scheme;
mod signed_list;
mod signer;
#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

pub use self::anchors::ListAnchors;
use self::entities::{Entities, Misnamed};
pub use self::entities::{ListedProvider, ListedService};
use self::envelope::{Envelope, not_json};
use self::error::unusable;
pub use self::error::{TrustedListError, TrustedListErrorKind};
pub use self::feed::ListTerms;
#[cfg(feature = "shell")]
pub use self::feed::is_of_another_list;
pub use self::list_of_lists::{ListOfLists, ListPointer, NamedList, ReadPointers};
pub use self::read_list::{ReadList, ReadProvider, ReadScheme, ReadService};
use self::scheme::Scheme;
pub use self::signed_list::{AuthenticList, ListSignature, SignatureKind, SignedList};
pub use self::signer::ListSigner;
use crate::codec::json::{Tape, Value};
use crate::crypto::CryptoProvider;
use crate::limits::MAX_LIST_NODES;
use crate::time::UnixMillis;
use crate::trust::crl::VerifiedCrl;
use crate::trust::listing::ListType;

/// A trusted list that was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustedList {
    /// The kind of list.
    pub list_type: ListType,
    /// The sequence number: each list has a greater one than its predecessor.
    pub sequence: u64,
    /// The publisher: `SchemeOperatorName`.
    pub operator: String,
    /// `SchemeTerritory`; empty where it has none.
    pub territory: String,
    /// The time when it was issued.
    pub issued_at: UnixMillis,
    /// The time when the next one is due: from then on the list is not in force.
    pub next_update: UnixMillis,
    /// The signer.
    pub signer: ListSigner,
    /// SHA-256 of its payload.
    pub payload_sha256: [u8; 32],
    /// The providers, in the order of the list.
    pub providers: Vec<ListedProvider>,
    /// Deviations that do no harm.
    pub warnings: Vec<String>,
    /// The number of unknown members that were ignored.
    pub ignored_members: usize,
    /// The number of omitted services of other types. A list in JSON has them among its services.
    pub other_services: usize,
    /// SHA-256 of the certificates that may sign lists of this source, as the list itself announces
    /// them. They are only reported, never trusted.
    pub announced_signers: Vec<[u8; 32]>,
}

/// The newest known list of a source. It is kept after the list expires, because an older list in
/// its place is an attack, or a mistake that looks like one.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // the members to remember
pub struct ListMark {
    /// The sequence number.
    pub sequence: u64,
    /// The time when it was issued.
    pub issued_at: UnixMillis,
    /// SHA-256 of its payload.
    pub payload_sha256: [u8; 32],
    /// The time when it was first seen.
    pub seen_at: UnixMillis,
}

/// The rules that a trusted list must satisfy.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ListRules<'r> {
    /// The anchors for its signer. `None`: the signature is checked with a certificate from the
    /// list itself. This shows that the list is undamaged, but anyone may have made it. For test
    /// material only.
    pub anchors: Option<&'r ListAnchors>,
    /// Whether the list is for tests; then it may omit the time of signing.
    pub test_only: bool,
    /// CRLs of the CAs among the anchors. Those for the signer, or for the intermediate above it,
    /// must be current and must not revoke it.
    pub crls: &'r [VerifiedCrl],
    /// The required kind of list; `None`: any.
    pub list_type: Option<ListType>,
    /// The required territory, which is that of the first import; `None`: any.
    pub territory: Option<&'r str>,
    /// The organizationName that a signer below a CA must have, as it was at the first import.
    /// Without it any customer of the CA could publish lists.
    pub organization: Option<&'r str>,
    /// The newest known list of the source; `None`: there is none, or an older one is acceptable.
    pub mark: Option<&'r ListMark>,
    /// Whether to accept the list although the next one is due.
    pub allow_stale: bool,
}

impl<'r> ListRules<'r> {
    /// Rules for a first list, of any type, with a signer that `anchors` cover.
    pub const fn new(anchors: &'r ListAnchors) -> Self {
        Self { anchors: Some(anchors), test_only: false, ..Self::for_tests() }
    }

    /// Rules for a first list, of any type, that only show that it is undamaged.
    pub const fn for_tests() -> Self {
        Self {
            anchors: None,
            test_only: true,
            crls: &[],
            list_type: None,
            territory: None,
            organization: None,
            mark: None,
            allow_stale: false,
        }
    }
}

/// Reads a trusted list: one compact JWS, at most 8 MiB; a final line break is tolerated. Import it
/// into an entry with `TrustEntry::take_list`, and store [`TrustedList::mark`] for the next one.
///
/// # Errors
/// The first rule that it breaks: it must be a list of these types, and its signer, signature,
/// dates and number must satisfy `rules`.
pub fn import_trusted_list(
    provider: &CryptoProvider,
    file: &[u8],
    rules: &ListRules<'_>,
    now: UnixMillis,
) -> Result<TrustedList, TrustedListError> {
    let envelope = Envelope::open(file)?;
    let payload_sha256 = provider.sha256(&envelope.payload);
    let is_new = rules.mark.is_none_or(|mark| mark.payload_sha256 != payload_sha256);
    let by = envelope.authenticate(provider, rules, is_new, now)?;
    let mut tape = Tape::holding(MAX_LIST_NODES);
    let id = tape.parse(&envelope.payload).map_err(|error| not_json("payload", error))?;
    let lote = content(tape.value(id))?;
    let scheme = scheme(lote)?;
    scheme.check_identity(&by, rules)?;
    let issue = &scheme.issue;
    issue.check_currency((by.signer.signed_at, &payload_sha256), rules, now)?;
    read(provider, lote, scheme, (by.signer, payload_sha256), now)
}

impl TrustedList {
    /// Reads a list again that was imported before and stored where only the operator can write:
    /// signature, dates and number are not checked.
    ///
    /// # Errors
    /// It was never a list.
    pub fn recall(
        provider: &CryptoProvider,
        file: &[u8],
        now: UnixMillis,
    ) -> Result<Self, TrustedListError> {
        let envelope = Envelope::open(file)?;
        let signer = envelope.recall_signer(provider)?;
        let mut tape = Tape::holding(MAX_LIST_NODES);
        let id = tape.parse(&envelope.payload).map_err(|error| not_json("payload", error))?;
        let lote = content(tape.value(id))?;
        let payload_sha256 = provider.sha256(&envelope.payload);
        read(provider, lote, scheme(lote)?, (signer, payload_sha256), now)
    }

    /// Checks that the list is not older than the newest known one of its source, for callers who
    /// learn the source only from the list; [`ListRules::mark`] makes the same check.
    ///
    /// # Errors
    /// The list is older, or a different one with the same number.
    pub fn check_newer(&self, mark: &ListMark) -> Result<(), TrustedListError> {
        issue::check_mark((self.sequence, self.issued_at), &self.payload_sha256, mark)
    }

    /// The state to store for the next list, first seen at `now` unless `former` is for the same
    /// list.
    pub fn mark(&self, former: Option<&ListMark>, now: UnixMillis) -> ListMark {
        issue::mark((self.sequence, self.issued_at), self.payload_sha256, former, now)
    }
}

/// The only member of the payload.
fn content<'t, 'a>(payload: Value<'t, 'a>) -> Result<Value<'t, 'a>, TrustedListError> {
    let lote = payload.get("LoTE").filter(|lote| lote.members().is_some());
    let lote = lote.ok_or_else(|| unusable("lacks the outer LoTE"))?;
    match payload.members().map(Iterator::count) {
        Some(1) => Ok(lote),
        _ => Err(unusable("has members in addition to the outer LoTE")),
    }
}

fn scheme(lote: Value<'_, '_>) -> Result<Scheme, TrustedListError> {
    let scheme = lote.get("ListAndSchemeInformation");
    Scheme::read(scheme.ok_or_else(|| unusable("lacks its ListAndSchemeInformation"))?)
}

fn read(
    provider: &CryptoProvider,
    lote: Value<'_, '_>,
    scheme: Scheme,
    (signer, payload_sha256): (ListSigner, [u8; 32]),
    now: UnixMillis,
) -> Result<TrustedList, TrustedListError> {
    let information = lote.get("ListAndSchemeInformation");
    let unknown = |object: Option<Value<'_, '_>>, known: &[&str]| {
        let members = object.and_then(Value::members).into_iter().flatten();
        members.filter(|(name, _)| !known.iter().any(|known| name.is(known))).count()
    };
    let ignored = unknown(Some(lote), &["ListAndSchemeInformation", "TrustedEntitiesList"])
        .saturating_add(unknown(information, scheme::MEMBERS));
    let Scheme { list_type, issue, departures } = scheme;
    let misnamed = Misnamed::default();
    let mut entities = Entities { provider, list_type, now, ignored, misnamed };
    let providers = entities.read(lote.get("TrustedEntitiesList"))?;
    let pointers = information.and_then(|information| information.get("PointersToOtherLoTE"));
    Ok(TrustedList {
        list_type,
        sequence: issue.sequence,
        operator: issue.operators.into_iter().next().unwrap_or_default(),
        territory: issue.territory,
        issued_at: issue.issued_at,
        next_update: issue.next_update,
        signer,
        payload_sha256,
        providers,
        warnings: departures.into_iter().chain(entities.misnamed.warning()).collect(),
        ignored_members: entities.ignored,
        other_services: 0,
        announced_signers: announced(provider, pointers),
    })
}

/// The certificates of pointers: a list's pointer to itself names the signers of the next lists
/// (ETSI TS 119 602 6.3.13).
fn announced(provider: &CryptoProvider, pointers: Option<Value<'_, '_>>) -> Vec<[u8; 32]> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    const MOST: usize = 32;
    let mut found = Vec::new();
    for pointer in pointers.and_then(Value::elements).into_iter().flatten() {
        let identities = pointer.get("ServiceDigitalIdentities").and_then(Value::elements);
        for identity in identities.into_iter().flatten() {
            let certificates = identity.get("X509Certificates").and_then(Value::elements);
            for certificate in certificates.into_iter().flatten() {
                let text = certificate.get("val").and_then(Value::as_str).unwrap_or_default();
                if let Ok(der) = STANDARD.decode(text.as_bytes())
                    && found.len() < MOST
                {
                    found.push(provider.sha256(&der));
                }
            }
        }
    }
    found
}
