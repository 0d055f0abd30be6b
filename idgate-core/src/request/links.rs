//! What the tenant shows to the person: one request behind several schemes.

use alloc::string::String;
use core::fmt;

use crate::codec::form::push_pair;
use crate::ids::SessionId;
use crate::request::inline::inline_query;
use crate::session::{Delivery, Session};
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

/// `client_id` and `request_uri` alone (RFC 9101 5): everything else is in the Request Object.
/// Decoding gives the object's values, so a `%3A` in the DID travels as `%253A`.
fn request_uri_query(session: &Session) -> String {
    let mut query = String::new();
    push_pair(&mut query, "client_id", session.client_identifier.as_str());
    push_pair(&mut query, "request_uri", session.request_uri.as_deref().unwrap_or_default());
    query
}

impl Invitation {
    /// The same request behind `scheme`.
    pub fn deep_link(&self, scheme: Scheme) -> String {
        let ours = Scheme::OpenId4Vp.prefix();
        let query = self.qr_code_url.strip_prefix(ours).unwrap_or_default();
        [scheme.prefix(), query].concat()
    }
}

impl Session {
    /// The request of this session behind `scheme`. Only a session that still takes an answer has
    /// one: a settled session has no nonce and no state any more.
    pub fn deep_link(&self, scheme: Scheme) -> String {
        let query = match self.profile.delivery {
            Delivery::Inline => inline_query(self),
            Delivery::RequestUri => request_uri_query(self),
        };
        [scheme.prefix(), &query].concat()
    }

    /// The id of this session's presentation definition; a submission must name it.
    pub(crate) fn definition_id(&self) -> &str {
        self.id.as_str()
    }

    /// What the tenant is told about this session.
    pub fn invitation(&self) -> Invitation {
        Invitation {
            session_id: self.id.clone(),
            livemode: self.livemode,
            expires_at: self.expires_at,
            qr_code_url: self.deep_link(Scheme::OpenId4Vp),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures;

    #[test]
    fn deep_links_carry_the_same_request() {
        let session = fixtures::session(fixtures::one_credential());
        let invitation = session.invitation();
        let query = invitation.qr_code_url.strip_prefix("openid4vp://?").unwrap();
        for (key, prefix) in [
            ("openid4vp", "openid4vp://?"),
            ("eudi-wallet", "eudi-openid4vp://?"),
            ("haip", "haip-vp://?"),
        ] {
            let scheme = Scheme::from_key(key).unwrap();
            let link = session.deep_link(scheme);
            assert_eq!(link.strip_prefix(prefix), Some(query), "{key}");
            assert_eq!(invitation.deep_link(scheme), link, "{key}");
        }
        assert_eq!(Scheme::from_key("OPENID4VP"), None);
        assert_eq!(Scheme::from_key(""), None);
    }

    #[test]
    fn the_invitation_repeats_the_session() {
        let session = fixtures::session(fixtures::one_credential());
        let invitation = session.invitation();
        assert_eq!(&invitation.session_id, session.id());
        assert_eq!(invitation.expires_at, session.expires_at());
        assert!(invitation.livemode);
    }
}
