//! The request that a page passes to its browser (OpenID4VP A.3). It has no `state` and no URI for
//! the answer, because the page itself sends the answer to its server.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::codec::json::json_text;
use crate::crypto::{PublicKey, RequestSigner, SignerUnavailable};
use crate::request::client_metadata::ClientMetadata;
use crate::request::dcql::DcqlQuery;
use crate::request::jws;
use crate::request::parameters::SELF_ISSUED;
use crate::request::presentation_request::PresentationRequest;
use crate::request::verifier_info::VerifierInfo;
use crate::time::UnixMillis;

/// The value that a page passes to `navigator.credentials.get` as `digital`: an object with
/// `requests`, each with a protocol and its data. It contains the nonce: keep it out of logs.
#[derive(Clone)]
pub struct DcApiRequests(Vec<(&'static str, String)>);

impl DcApiRequests {
    pub(crate) const fn new(requests: Vec<(&'static str, String)>) -> Self {
        Self(requests)
    }

    /// Each protocol by name, with its data as the JSON text of an object.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(protocol, data)| (*protocol, &**data))
    }

    /// Returns the whole value as JSON text: `{"requests":[{"protocol":…,"data":{…}},…]}`.
    pub fn to_json(&self) -> String {
        json_text(self)
    }
}

/// Omits the requests.
impl fmt::Debug for DcApiRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DcApiRequests({})", self.0.len())
    }
}

impl Serialize for DcApiRequests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'w> {
            requests: Each<'w>,
        }
        Whole { requests: Each(&self.0) }.serialize(serializer)
    }
}

struct Each<'e>(&'e [(&'static str, String)]);

impl Serialize for Each<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One<'o> {
            protocol: &'static str,
            data: &'o RawValue,
        }
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (protocol, data) in self.0 {
            let data = serde_json::from_str(data).map_err(serde::ser::Error::custom)?;
            list.serialize_element(&One { protocol, data })?;
        }
        list.end()
    }
}

/// The parameters that all these requests share.
#[derive(Clone, Copy)]
pub(crate) struct DcApiParameters<'r> {
    pub(crate) nonce: &'r str,
    /// The key that the answer is encrypted to.
    pub(crate) encryption_key: &'r PublicKey,
    /// The tenant's request.
    pub(crate) request: &'r PresentationRequest,
    /// The allowed origins of the page.
    pub(crate) origins: &'r [String],
    pub(crate) issued_at: UnixMillis,
    pub(crate) expires_at: UnixMillis,
}

/// A signer, and its client identifier.
pub(crate) struct SigningIdentity<'s> {
    pub(crate) client_id: &'s str,
    pub(crate) signer: &'s dyn RequestSigner,
    pub(crate) verifier_info: &'s [VerifierInfo],
}

#[derive(Serialize)]
struct Members<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_origins: Option<&'m [String]>,
    response_type: &'static str,
    response_mode: &'static str,
    nonce: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iat: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    dcql_query: DcqlQuery<'m>,
    client_metadata: ClientMetadata,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    verifier_info: &'m [VerifierInfo],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transaction_data: Vec<&'m str>,
}

#[derive(Serialize)]
struct Request<T> {
    request: T,
}

#[derive(Serialize)]
struct GeneralJws {
    payload: String,
    signatures: Vec<Signature>,
}

#[derive(Serialize)]
struct Signature {
    protected: String,
    signature: String,
}

impl<'r> DcApiParameters<'r> {
    /// `openid4vp-v1-unsigned`: the browser states who asks, and a wallet ignores a client
    /// identifier from the page (OpenID4VP A.2).
    pub(crate) fn unsigned(self) -> String {
        json_text(&self.members())
    }

    /// `openid4vp-v1-signed`.
    ///
    /// # Errors
    /// The key cannot be used now.
    pub(crate) fn signed(self, by: &SigningIdentity<'_>) -> Result<String, SignerUnavailable> {
        let claims = Members {
            client_id: Some(by.client_id),
            verifier_info: by.verifier_info,
            ..self.signed_members()
        };
        Ok(json_text(&Request { request: jws::compact(by.signer, &claims)? }))
    }

    /// `openid4vp-v1-multisigned`: the client identifier is in each header, and everything else in
    /// the payload.
    ///
    /// # Errors
    /// One of the keys cannot be used now.
    pub(crate) fn multisigned(
        self,
        by: &[SigningIdentity<'_>],
    ) -> Result<String, SignerUnavailable> {
        let payload = jws::encoded(&self.signed_members());
        let sign = |one: &SigningIdentity<'_>| {
            let header = jws::Header::named(one.signer, one.client_id, one.verifier_info);
            let protected = jws::encoded(&header);
            let signature = jws::signature(one.signer, &protected, &payload)?;
            Ok(Signature { protected, signature })
        };
        let signatures = by.iter().map(sign).collect::<Result<_, SignerUnavailable>>()?;
        Ok(json_text(&Request { request: GeneralJws { payload, signatures } }))
    }

    fn members(self) -> Members<'r> {
        let data = self.request.transaction_data.iter();
        Members {
            client_id: None,
            expected_origins: None,
            response_type: "vp_token",
            response_mode: "dc_api.jwt",
            nonce: self.nonce,
            aud: None,
            iat: None,
            exp: None,
            // Without values, because the page would see immediately that a wallet refuses.
            dcql_query: DcqlQuery::without_values(self.request),
            client_metadata: ClientMetadata::new(self.request, Some(self.encryption_key)),
            verifier_info: &[],
            transaction_data: data.map(|data| &*data.encoded).collect(),
        }
    }

    fn signed_members(self) -> Members<'r> {
        Members {
            expected_origins: Some(self.origins),
            aud: Some(SELF_ISSUED),
            iat: Some(self.issued_at.as_secs()),
            exp: Some(self.expires_at.as_secs()),
            ..self.members()
        }
    }
}
