//! How a request is made and how its answer is read.

use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::request::Profile;

/// How a request is made and how its answer is read: fixed at creation and stored. Code that
/// renders a request, unpacks an answer or chooses the audience and transcripts uses it;
/// verification of a credential never does. The answer cannot change it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestShape {
    /// The profile.
    #[serde(rename = "dialect", default = "draft", skip_serializing_if = "is_draft")]
    pub profile: Profile,
    /// The query language of the request.
    pub query: QueryLanguage,
    /// The form of `client_id`.
    pub client_id_form: ClientIdForm,
    /// How the request reaches the wallet.
    pub delivery: Delivery,
    /// Whether the answer is encrypted.
    pub response: ResponseEncryption,
    /// The mdoc session transcripts to try, in order.
    pub transcripts: Vec<TranscriptKind>,
}

impl RequestShape {
    /// `draft` by value: unsigned, plain `direct_post` (OpenID4VP 5, 8.2).
    pub fn inline() -> Self {
        Self {
            profile: Profile::Draft,
            query: QueryLanguage::PresentationExchange,
            client_id_form: ClientIdForm::RedirectUri,
            delivery: Delivery::Inline,
            response: ResponseEncryption::Plain,
            transcripts: vec![TranscriptKind::OpenId4Vp1],
        }
    }

    /// `draft` by reference: signed, with `direct_post.jwt` (RFC 9101, OpenID4VP 5 and 8.3).
    pub fn jar() -> Self {
        Self {
            profile: Profile::Draft,
            query: QueryLanguage::PresentationExchange,
            client_id_form: ClientIdForm::Did,
            delivery: Delivery::RequestUri,
            response: ResponseEncryption::EcdhEs,
            transcripts: vec![TranscriptKind::OpenId4Vp1, TranscriptKind::Iso180137],
        }
    }

    /// `1.0` by value: unsigned.
    pub fn v1_0_inline(response: ResponseEncryption) -> Self {
        Self {
            profile: Profile::V1_0,
            query: QueryLanguage::Dcql,
            client_id_form: ClientIdForm::RedirectUri,
            delivery: Delivery::Inline,
            response,
            transcripts: vec![TranscriptKind::OpenId4Vp1],
        }
    }

    /// The shape for the European age app: `1.0` by value, unsigned, with plain `direct_post` (AV
    /// profile, annex A).
    pub(crate) fn of_age_app() -> Self {
        Self::v1_0_inline(ResponseEncryption::Plain)
    }

    /// `1.0` by reference: signed, under a client identifier of this form.
    pub fn v1_0_jar(client_id_form: ClientIdForm, response: ResponseEncryption) -> Self {
        Self { client_id_form, delivery: Delivery::RequestUri, ..Self::v1_0_inline(response) }
    }

    /// `haip`: by reference, under a certificate's hash, encrypted (HAIP 1.0, 5 and 5.1).
    pub fn haip() -> Self {
        let v1_0 = Self::v1_0_jar(ClientIdForm::X509Hash, ResponseEncryption::EcdhEs);
        Self { profile: Profile::Haip, ..v1_0 }
    }

    /// A request to a page's browser. Its answer is encrypted, because the page and its server
    /// handle it before the verifier does. The transcript does not depend on the signer (OpenID4VP
    /// A, B.2.6.2).
    pub fn browser(profile: Profile) -> Self {
        Self {
            profile,
            client_id_form: ClientIdForm::Origin,
            delivery: Delivery::Browser,
            transcripts: vec![TranscriptKind::OpenId4Vp1DcApi],
            ..Self::v1_0_inline(ResponseEncryption::EcdhEs)
        }
    }

    /// `request_mode` in `verification_details`.
    pub(crate) const fn request_mode(&self) -> &'static str {
        match self.delivery {
            Delivery::Inline => "inline",
            Delivery::RequestUri => "jar",
            Delivery::Browser => "dc_api",
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
    /// `dcql_query` (OpenID4VP 6)
    Dcql,
}

/// A form of `client_id`: the prefix, and what follows it (OpenID4VP 5.9).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientIdForm {
    /// `redirect_uri:` and the response URI
    RedirectUri,
    /// A bare DID (the drafts)
    Did,
    /// `decentralized_identifier:` and a DID (OpenID4VP 5.9.3)
    DecentralizedIdentifier,
    /// `x509_san_dns:` and a name in the signer's certificate (OpenID4VP 5.9.3)
    X509SanDns,
    /// `x509_hash:` and the hash of the signer's certificate (OpenID4VP 5.9.3)
    X509Hash,
    /// `origin:` and the origin of the page that passed the request to its browser. The browser
    /// states it, and no request contains it (OpenID4VP A.4).
    Origin,
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
    /// By a page to its browser (OpenID4VP A, W3C Digital Credentials API).
    Browser,
}

/// Whether an answer is encrypted (OpenID4VP 8.2, 8.3).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseEncryption {
    /// `direct_post`
    Plain,
    /// `direct_post.jwt`, `dc_api.jwt`: a JWE by ECDH-ES to a key of the offer
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
    /// The handover of OpenID4VP 1.0, B.2.6.2, for an answer through a browser.
    #[serde(rename = "openid4vp-1.0-dc-api")]
    OpenId4Vp1DcApi,
    /// The handover of ISO/IEC TS 18013-7, C.5, for an answer through a browser to its own request.
    #[serde(rename = "iso18013-7-annex-c")]
    Iso180137AnnexC,
}

const fn draft() -> Profile {
    Profile::Draft
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes references
fn is_draft(profile: &Profile) -> bool {
    *profile == Profile::Draft
}
