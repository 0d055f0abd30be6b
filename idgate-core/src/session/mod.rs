//! The session, which is plain data. Only `transition.rs` changes its phase. The embedder commits
//! each [`Transition`] with a compare-and-set on [`Revision`] and carries out the effects
//! afterwards.

mod browser;
mod effect;
mod encryption_key;
mod info;
mod invitation;
pub(crate) mod offer;
pub(crate) mod phase;
mod redaction;
pub(crate) mod settlement;
pub(crate) mod shape;
mod snapshot;
mod transition;
mod version_1;

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use self::browser::DcApiProtocol;
pub(crate) use self::browser::{BrowserOffer, Identity, IsoMdocOffer, audience_of};
pub use self::effect::Effect;
pub(crate) use self::encryption_key::EncryptionKey;
pub use self::info::{BrowserInfo, OfferInfo, SessionInfo};
pub(crate) use self::offer::{Offer, Offers};
pub(crate) use self::phase::Phase;
pub use self::redaction::{Reader, SessionResult, Withheld};
pub(crate) use self::settlement::Settlement;
pub(crate) use self::shape::{
    ClientIdForm, Delivery, QueryLanguage, RequestShape, ResponseEncryption, TranscriptKind,
};
pub use self::snapshot::SnapshotError;
pub(crate) use self::transition::Input;
pub use self::transition::Transition;
use crate::ids::{ClientIdentifier, OfferId, SessionId, TenantId};
use crate::request::{PresentationRequest, Profile, RegistrationCertificate, VerifierInfo};
use crate::time::UnixMillis;

/// The number of commits; 0 means "not stored yet".
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
#[allow(clippy::exhaustive_structs)] // a plain number, and always will be
pub struct Revision(pub u64);

/// The status of a session, as the API names it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Status {
    /// CREATED: no wallet has seen the request.
    Created,
    /// PENDING: a wallet can answer.
    Pending,
    /// VERIFYING: the answer has passed all checks so far, and its status is being fetched.
    Verifying,
    /// VERIFIED: the answer passed every check.
    Verified,
    /// FAILED: the session ended without a verified answer.
    Failed,
    /// EXPIRED: no answer came in time.
    Expired,
}

impl Status {
    /// Returns the name that the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Pending => "PENDING",
            Self::Verifying => "VERIFYING",
            Self::Verified => "VERIFIED",
            Self::Failed => "FAILED",
            Self::Expired => "EXPIRED",
        }
    }

    /// Whether the session has ended. Only deletion can follow.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Verified | Self::Failed | Self::Expired)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One verification session.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) tenant: TenantId,
    pub(crate) livemode: bool,
    pub(crate) offers: Offers,
    pub(crate) request: PresentationRequest,
    /// Attestations about the tenant by third parties, for wallets.
    pub(crate) verifier_info: Vec<VerifierInfo>,
    pub(crate) created_at: UnixMillis,
    pub(crate) expires_at: UnixMillis,
    pub(crate) revision: Revision,
    pub(crate) phase: Phase,
    /// Version of the trust snapshot that decided.
    pub(crate) trust_version: Option<u64>,
    /// Never part of a snapshot: the embedder stores it separately, for 30 seconds.
    pub(crate) result: Option<SessionResult>,
}

impl Session {
    /// The session's id. It is public: the paths that wallets use contain it.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The last segments of the paths that wallets use: the session's id, and those of its further
    /// offers. A store finds the session by each.
    pub fn handles(&self) -> impl Iterator<Item = &str> {
        let offers = self.offers.iter().filter_map(|offer| offer.id().map(OfferId::as_str));
        core::iter::once(self.id.as_str()).chain(offers)
    }

    /// The tenant that owns the session.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// `false` for sandbox data.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn livemode(&self) -> bool {
        self.livemode
    }

    /// The requests, in the order in which the tenant listed their profiles; the one for browsers
    /// is last.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.offers.iter()
    }

    /// The offer with this id; without an id the session's own, which is the first. `None`: no
    /// linked offer has this id.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn offer(&self, id: Option<&OfferId>) -> Option<&Offer> {
        self.offers.find(id)
    }

    /// The last segment of the paths of `offer`, which must be one of this session's linked offers:
    /// the offer's own id, or that of the session.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn handle_of<'s>(&'s self, offer: &'s Offer) -> &'s str {
        offer.id().map_or(self.id.as_str(), OfferId::as_str)
    }

    /// The offer at the path with this last segment.
    pub(crate) fn offer_at(&self, handle: &str) -> Option<&Offer> {
        self.offers.linked().find(|offer| self.handle_of(offer) == handle)
    }

    /// The offer that pages pass to their browsers.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn browser_offer(&self) -> Option<&Offer> {
        self.offers.browser().map(|(offer, _)| offer)
    }

    /// Removes every origin that `may_answer` refuses: answers of pages from there are no longer
    /// accepted. Returns whether an origin is left.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn retain_origins(&mut self, may_answer: impl Fn(&str) -> bool) -> bool {
        let mut is_one_left = false;
        for offer in self.offers.iter_mut() {
            let Some(browser) = &mut offer.browser else { continue };
            browser.origins.retain(|origin| may_answer(origin));
            if let Some(first) = browser.origins.first() {
                offer.client_identifier = ClientIdentifier::new(audience_of(first));
                is_one_left = true;
            }
        }
        is_one_left
    }

    /// How the first offer's request is made and its answer read.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn shape(&self) -> &RequestShape {
        self.offers.own().shape()
    }

    /// The audience that a holder's proof for the first offer must name.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn client_identifier(&self) -> &ClientIdentifier {
        self.offers.own().client_identifier()
    }

    /// The URI that the wallet posts its answer to the first offer to.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn response_uri(&self) -> &str {
        self.offers.own().response_uri()
    }

    /// The URI of the first offer's Request Object, if it goes by reference.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn request_uri(&self) -> Option<&str> {
        self.offers.own().request_uri()
    }

    /// Whether an answer may be encrypted, to a key that is erased at the settlement.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn takes_encrypted_answers(&self) -> bool {
        self.offers.iter().any(Offer::is_encrypted)
    }

    /// The credentials and claims that the tenant asked for.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn request(&self) -> &PresentationRequest {
        &self.request
    }

    /// The registration certificate that goes to wallets, if there is one.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn registration(&self) -> Option<RegistrationCertificate> {
        let text = RegistrationCertificate::among(&self.verifier_info)?;
        RegistrationCertificate::parse(text).ok()
    }

    /// Whether a registration certificate goes to wallets.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn is_registered(&self) -> bool {
        RegistrationCertificate::among(&self.verifier_info).is_some()
    }

    /// Whether answers to the tenant name the profile. They omit it if the session uses `draft`,
    /// and the request names no profile and has no field that needs another one.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn names_profile(&self) -> bool {
        self.request.has_newer_fields
            || !self.request.profiles.is_empty()
            || self.offers().any(|offer| offer.profile() != Profile::Draft)
    }

    /// The time of its creation.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn created_at(&self) -> UnixMillis {
        self.created_at
    }

    /// The time from which it takes no more answers.
    pub fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    /// The number of commits so far. A store writes a transition only if it has the expected
    /// revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The phase as stored. [`Session::status_at`] also takes the time into account.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Version of the trust snapshot that decided, once settled.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn trust_version(&self) -> Option<u64> {
        self.trust_version
    }
}
