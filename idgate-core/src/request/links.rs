//! The links that the tenant shows to the person: one request behind several schemes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::codec::form::push_pair;
use crate::ids::SessionId;
use crate::request::profile::Profile;
use crate::time::UnixMillis;

/// A wallet scheme that the request is offered under.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scheme {
    /// `openid4vp://`
    OpenId4Vp,
    /// `eudi-openid4vp://`
    EudiWallet,
    /// `haip-vp://`
    Haip,
    /// `av://`, the scheme of the European age app, for requests that only this app accepts.
    Av,
}

impl Scheme {
    /// The schemes of every session, in the order of `deep_links`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 3] = [Self::OpenId4Vp, Self::EudiWallet, Self::Haip];

    /// Its key in `deep_links` and value of `?scheme=`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::OpenId4Vp => "openid4vp",
            Self::EudiWallet => "eudi-wallet",
            Self::Haip => "haip",
            Self::Av => "av",
        }
    }

    /// The text before the query of the request.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::OpenId4Vp => "openid4vp://?",
            Self::EudiWallet => "eudi-openid4vp://?",
            Self::Haip => "haip-vp://?",
            Self::Av => "av://?",
        }
    }

    /// The index of the session's request that this scheme carries, by profile. The schemes of
    /// newer wallets carry the first request that is not `draft`, and the scheme that all wallets
    /// support carries the `draft` one. If there is none, they carry the first.
    pub(crate) fn choice(self, profiles: &[Profile]) -> usize {
        let wants_draft = self == Self::OpenId4Vp;
        let fits = |profile: &Profile| (*profile == Profile::Draft) == wants_draft;
        profiles.iter().position(fits).unwrap_or(0)
    }

    /// The schemes of a session, in the order of `deep_links`.
    pub(crate) fn of(suits_age_app: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(suits_age_app.then_some(Self::Av))
    }

    /// Returns the scheme with this key.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Av]).find(|scheme| scheme.key() == key)
    }
}

/// The reply to a session creation.
#[derive(Clone)]
#[non_exhaustive]
pub struct Invitation {
    /// The session's id. It is public: the paths that wallets use contain it.
    pub session_id: SessionId,
    /// Whether the session is live.
    pub livemode: bool,
    /// The time from which the session takes no more answers.
    pub expires_at: UnixMillis,
    /// The link to the first request, under `openid4vp://`, to be shown as a QR code.
    pub qr_code_url: String,
    /// The profile of each request, and its query.
    offered: Vec<(Profile, String)>,
    /// Whether the European age app accepts the first request that is not `draft`.
    suits_age_app: bool,
}

/// Omits the request, which contains nonce and state.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation({})", self.session_id)
    }
}

impl Invitation {
    /// The reply for a session whose requests have these profiles and queries.
    pub(crate) fn new(
        session_id: SessionId,
        livemode: bool,
        expires_at: UnixMillis,
        offered: Vec<(Profile, String)>,
        suits_age_app: bool,
    ) -> Self {
        let first = offered.first().map(|(_, query)| &**query).unwrap_or_default();
        let qr_code_url = [Scheme::OpenId4Vp.prefix(), first].concat();
        Self { session_id, livemode, expires_at, qr_code_url, offered, suits_age_app }
    }

    /// The profile of the first request.
    pub fn profile(&self) -> Profile {
        self.offered.first().map_or(Profile::Draft, |(profile, _)| *profile)
    }

    /// The schemes of the links, in their order.
    pub fn schemes(&self) -> impl Iterator<Item = Scheme> {
        Scheme::of(self.suits_age_app)
    }

    /// Returns the link under `scheme`, to the request that is best for its wallets.
    pub fn deep_link(&self, scheme: Scheme) -> String {
        let profiles: Vec<_> = self.offered.iter().map(|(profile, _)| *profile).collect();
        let query = self.offered.get(scheme.choice(&profiles)).map(|(_, query)| &**query);
        [scheme.prefix(), query.unwrap_or_default()].concat()
    }
}

/// Only `client_id` and `request_uri` (RFC 9101 5): everything else is in the Request Object.
/// Decoding gives the object's values, so a `%3A` in the DID is sent as `%253A`. `announces_post`
/// adds that the wallet may POST for it (OpenID4VP 5.10).
pub(crate) fn request_uri_query(
    client_id: &str,
    request_uri: &str,
    announces_post: bool,
) -> String {
    let mut query = String::new();
    push_pair(&mut query, "client_id", client_id);
    push_pair(&mut query, "request_uri", request_uri);
    if announces_post {
        push_pair(&mut query, "request_uri_method", "post");
    }
    query
}
