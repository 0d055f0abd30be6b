//! What the tenant shows to the person: one request behind several schemes.

use alloc::string::String;
use core::fmt;

use crate::codec::form::push_pair;
use crate::ids::SessionId;
use crate::time::UnixMillis;

/// A wallet scheme that the request is offered under (decisions 5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scheme {
    /// `openid4vp://`
    OpenId4Vp,
    /// `eudi-openid4vp://`
    EudiWallet,
    /// `haip-vp://`
    Haip,
}

impl Scheme {
    /// Every scheme, in the order of `deep_links`.
    pub const ALL: [Self; 3] = [Self::OpenId4Vp, Self::EudiWallet, Self::Haip];

    /// Its key in `deep_links` and value of `?scheme=`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::OpenId4Vp => "openid4vp",
            Self::EudiWallet => "eudi-wallet",
            Self::Haip => "haip",
        }
    }

    /// What stands before the query of the request.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::OpenId4Vp => "openid4vp://?",
            Self::EudiWallet => "eudi-openid4vp://?",
            Self::Haip => "haip-vp://?",
        }
    }

    /// From its key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.key() == key)
    }
}

/// The reply to a session creation.
#[derive(Clone)]
#[non_exhaustive]
pub struct Invitation {
    /// The public handle.
    pub session_id: SessionId,
    /// false: sandbox data.
    pub livemode: bool,
    /// When the session stops accepting an answer.
    pub expires_at: UnixMillis,
    /// The request behind `openid4vp://`.
    pub qr_code_url: String,
}

/// Never the request: it carries nonce and state.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation({})", self.session_id)
    }
}

impl Invitation {
    /// The same request behind `scheme`.
    pub fn deep_link(&self, scheme: Scheme) -> String {
        let ours = Scheme::OpenId4Vp.prefix();
        let query = self.qr_code_url.strip_prefix(ours).unwrap_or_default();
        [scheme.prefix(), query].concat()
    }
}

/// `client_id` and `request_uri` alone (RFC 9101 5): everything else is in the Request Object.
/// Decoding gives the object's values, so a `%3A` in the DID travels as `%253A`.
pub(crate) fn request_uri_query(client_id: &str, request_uri: &str) -> String {
    let mut query = String::new();
    push_pair(&mut query, "client_id", client_id);
    push_pair(&mut query, "request_uri", request_uri);
    query
}
