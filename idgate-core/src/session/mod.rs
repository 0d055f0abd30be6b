//! A session is plain data. Only `transition.rs` changes its phase; the embedder commits each
//! [`Transition`] with a compare-and-set on [`Revision`] and carries out the effects afterwards.

mod effect;
mod encryption_key;
mod invitation;
mod redaction;
mod settlement;
mod snapshot;
mod transition;

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use self::effect::Effect;
pub(crate) use self::encryption_key::EncryptionKey;
pub use self::redaction::VerifiedResult;
pub use self::settlement::Settlement;
pub use self::snapshot::SnapshotError;
pub(crate) use self::transition::Input;
pub use self::transition::Transition;
use crate::error::{Reason, WalletError};
use crate::ids::{ClientIdentifier, Nonce, SessionId, State, TenantId};
use crate::request::PresentationRequest;
use crate::time::UnixMillis;

/// Counts commits; 0 stands for "not stored yet".
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
#[allow(clippy::exhaustive_structs)] // a plain number, and always will be
pub struct Revision(pub u64);

/// Where a session stands (decisions 8).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
#[non_exhaustive]
pub enum Phase {
    /// Made; no wallet has seen the request.
    Created,
    /// A wallet can answer.
    Pending,
    /// An answer is good so far and its status is being asked for.
    Verifying {
        /// When the lease is lost and the session is PENDING again.
        lease_until: UnixMillis,
    },
    /// Answered and genuine.
    Verified {
        /// When.
        at: UnixMillis,
    },
    /// Answered and refused.
    Failed {
        /// When.
        at: UnixMillis,
        /// Why.
        reason: Reason,
        /// What the wallet said, when that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wallet_error: Option<WalletError>,
    },
    /// Not answered in time.
    Expired {
        /// When.
        at: UnixMillis,
    },
}

/// The wire name of a phase.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Status {
    /// CREATED
    Created,
    /// PENDING
    Pending,
    /// VERIFYING
    Verifying,
    /// VERIFIED
    Verified,
    /// FAILED
    Failed,
    /// EXPIRED
    Expired,
}

impl Status {
    /// The text of the API.
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

    /// Whether nothing can happen any more but deletion.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Verified | Self::Failed | Self::Expired)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a request is made and how its answer is read: fixed at creation and stored. Rendering a
/// request, unpacking an answer, the expected audience and the transcript candidates look at it;
/// verification of a credential never does. Nothing in an answer changes it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestProfile {
    /// How credentials are asked for.
    pub query: QueryLanguage,
    /// The form of `client_id`.
    pub client_id_form: ClientIdForm,
    /// How the request reaches the wallet.
    pub delivery: Delivery,
    /// How the answer comes back.
    pub response: ResponseEncryption,
    /// The mdoc session transcripts to try, in order.
    pub transcripts: alloc::vec::Vec<TranscriptKind>,
}

impl RequestProfile {
    /// Unsigned, by value, plain `direct_post` (OpenID4VP 5, 8.2).
    pub fn inline() -> Self {
        Self {
            query: QueryLanguage::PresentationExchange,
            client_id_form: ClientIdForm::RedirectUri,
            delivery: Delivery::Inline,
            response: ResponseEncryption::Plain,
            transcripts: alloc::vec![TranscriptKind::OpenId4Vp1],
        }
    }

    /// Signed, by reference, with `direct_post.jwt` (RFC 9101, OpenID4VP 5 and 8.3).
    pub fn jar() -> Self {
        Self {
            query: QueryLanguage::PresentationExchange,
            client_id_form: ClientIdForm::Did,
            delivery: Delivery::RequestUri,
            response: ResponseEncryption::EcdhEs,
            transcripts: alloc::vec![TranscriptKind::OpenId4Vp1, TranscriptKind::Iso180137],
        }
    }

    /// `request_mode` in `verification_details`.
    pub(crate) const fn request_mode(&self) -> &'static str {
        match self.delivery {
            Delivery::Inline => "inline",
            Delivery::RequestUri => "jar",
        }
    }
}

/// A query language of OpenID4VP.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueryLanguage {
    /// `presentation_definition`
    PresentationExchange,
}

/// A form of `client_id`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientIdForm {
    /// `redirect_uri:` and the response URI
    RedirectUri,
    /// A bare DID
    Did,
}

/// How a request reaches the wallet.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delivery {
    /// By value in the URI.
    Inline,
    /// As a Request Object behind `request_uri`.
    RequestUri,
}

/// How an answer comes back.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseEncryption {
    /// `direct_post`
    Plain,
    /// `direct_post.jwt`: a JWE by ECDH-ES to a key of the session
    EcdhEs,
}

/// An mdoc session transcript.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub enum TranscriptKind {
    /// The handover of OpenID4VP 1.0, B.2.6.1.
    #[serde(rename = "openid4vp-1.0")]
    OpenId4Vp1,
    /// The handover of ISO/IEC TS 18013-7, B.4.4; it needs an encrypted answer.
    #[serde(rename = "iso18013-7")]
    Iso180137,
}

/// One verification session.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) tenant: TenantId,
    pub(crate) livemode: bool,
    pub(crate) profile: RequestProfile,
    pub(crate) client_identifier: ClientIdentifier,
    pub(crate) response_uri: String,
    /// Where the wallet fetches the Request Object; `None`: the request travels by value.
    pub(crate) request_uri: Option<String>,
    /// What the answer is encrypted to, until the settlement; `None`: answers are plain.
    pub(crate) encryption_key: Option<EncryptionKey>,
    pub(crate) nonce: Nonce,
    pub(crate) state: State,
    pub(crate) request: PresentationRequest,
    pub(crate) created_at: UnixMillis,
    pub(crate) expires_at: UnixMillis,
    pub(crate) revision: Revision,
    pub(crate) phase: Phase,
    /// Version of the trust snapshot that decided.
    pub(crate) trust_version: Option<u64>,
    /// Never part of a snapshot: the embedder keeps it apart, for 30 seconds.
    pub(crate) result: Option<VerifiedResult>,
}

impl Session {
    /// The public handle.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The owner.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// false: sandbox data.
    pub fn livemode(&self) -> bool {
        self.livemode
    }

    /// How the request is made and the answer read.
    pub fn profile(&self) -> &RequestProfile {
        &self.profile
    }

    /// The audience that a holder's proof must name.
    pub fn client_identifier(&self) -> &ClientIdentifier {
        &self.client_identifier
    }

    /// Where the wallet posts its answer.
    pub fn response_uri(&self) -> &str {
        &self.response_uri
    }

    /// Where the wallet fetches the Request Object, in the jar profile.
    pub fn request_uri(&self) -> Option<&str> {
        self.request_uri.as_deref()
    }

    /// What was asked for.
    pub fn request(&self) -> &PresentationRequest {
        &self.request
    }

    /// When it was made.
    pub fn created_at(&self) -> UnixMillis {
        self.created_at
    }

    /// When it stops accepting an answer.
    pub fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    /// Counts commits.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Where it stands as stored. [`Session::status_at`] also looks at the clock.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Version of the trust snapshot that decided, once settled.
    pub fn trust_version(&self) -> Option<u64> {
        self.trust_version
    }
}
