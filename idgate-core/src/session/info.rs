//! The facts of a session that a program can show and log.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use crate::error::{Reason, WalletError};
use crate::mode::Mode;
use crate::request::{Profile, Scheme};
use crate::session::{DcApiProtocol, Offer, Revision, Session, Status};
use crate::time::UnixMillis;

/// The facts of a session at a given time, without claims.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The id of the session.
    pub id: String,
    /// The owner; empty in a program with one tenant.
    pub tenant: String,
    /// Whether the session is live or a test.
    pub mode: Mode,
    /// The status at that time, with expiry taken into account.
    pub status: Status,
    /// The reason why the session is FAILED or EXPIRED.
    pub reason: Option<Reason>,
    /// The error that the wallet reported, where that is the reason.
    pub wallet_error: Option<WalletError>,
    /// The time of its creation.
    pub created_at: UnixMillis,
    /// The time from which it takes no more answers.
    pub expires_at: UnixMillis,
    /// The time of its settlement.
    pub settled_at: Option<UnixMillis>,
    /// The number of commits so far.
    pub revision: Revision,
    /// The [`Trust::version`](crate::Trust::version) that decided; `None` before the decision.
    pub trust_version: Option<u64>,
    /// The link of the first request, to be shown as a QR code; `None` if the session takes no more
    /// answers.
    pub qr_code_url: Option<String>,
    /// The same request behind each wallet scheme; empty if the session takes no more answers.
    pub deep_links: Vec<(Scheme, String)>,
    /// The requests that links carry, in the order of their profiles.
    pub offers: Vec<OfferInfo>,
    /// The request that pages pass to their browser, if there is one.
    pub dc_api: Option<BrowserInfo>,
}

/// A request that a link carries.
#[derive(Clone)]
#[non_exhaustive]
pub struct OfferInfo {
    /// The last segment of its paths: the session's id, or the offer's own.
    pub handle: String,
    /// Its profile.
    pub profile: Profile,
    /// The client identifier of the request, which is the audience of the answer (OpenID4VP 5.9).
    pub client_id: String,
    /// The URI that wallets post the answer to.
    pub response_uri: String,
    /// The URI that wallets fetch the request from, if it goes by reference.
    pub request_uri: Option<String>,
    /// The links, by scheme; empty if the session takes no more answers.
    pub deep_links: Vec<(Scheme, String)>,
}

/// The request of a session that goes to the browser of a page (OpenID4VP A).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BrowserInfo {
    /// Its profile.
    pub profile: Profile,
    /// The origins of the pages that may pass it on.
    pub origins: Vec<String>,
    /// The protocols of the request, in that order.
    pub protocols: Vec<DcApiProtocol>,
}

impl SessionInfo {
    /// Returns the link of the request that is best for wallets with `scheme`; `None` if the
    /// session takes no more answers.
    pub fn deep_link(&self, scheme: Scheme) -> Option<&str> {
        of_scheme(&self.deep_links, scheme)
    }
}

impl OfferInfo {
    /// Returns the link behind `scheme`; `None` if the session takes no more answers.
    pub fn deep_link(&self, scheme: Scheme) -> Option<&str> {
        of_scheme(&self.deep_links, scheme)
    }
}

fn of_scheme(links: &[(Scheme, String)], scheme: Scheme) -> Option<&str> {
    links.iter().find(|(of, _)| *of == scheme).map(|(_, link)| &**link)
}

/// Omits the links, which carry nonce and state.
impl fmt::Debug for SessionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionInfo({} {})", self.id, self.status)
    }
}

/// Omits the links.
impl fmt::Debug for OfferInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OfferInfo({} {})", self.handle, self.profile)
    }
}

impl Session {
    /// Returns the facts at `now`.
    pub fn info(&self, now: UnixMillis) -> SessionInfo {
        let status = self.status_at(now);
        let answerable = matches!(status, Status::Created | Status::Pending);
        let links = |link: &dyn Fn(Scheme) -> String| match answerable {
            true => self.schemes().map(|scheme| (scheme, link(scheme))).collect(),
            false => Vec::new(),
        };
        let offered = |offer: &Offer| OfferInfo {
            handle: self.handle_of(offer).into(),
            profile: offer.profile(),
            client_id: offer.client_identifier().as_str().into(),
            response_uri: offer.response_uri().into(),
            request_uri: offer.request_uri().map(String::from),
            deep_links: links(&|scheme| self.link(scheme, offer)),
        };
        SessionInfo {
            id: self.id.to_string(),
            tenant: self.tenant.as_str().into(),
            mode: if self.livemode { Mode::Live } else { Mode::Test },
            status,
            reason: self.reason_at(now),
            wallet_error: self.wallet_error(),
            created_at: self.created_at,
            expires_at: self.expires_at,
            settled_at: self.settled_at(),
            revision: self.revision,
            trust_version: self.trust_version,
            qr_code_url: answerable.then(|| self.link(Scheme::OpenId4Vp, self.offers.own())),
            deep_links: links(&|scheme| self.deep_link(scheme)),
            offers: self.offers.linked().map(offered).collect(),
            dc_api: self.browser_offer().map(|offer| BrowserInfo {
                profile: offer.profile(),
                origins: offer.origins().to_vec(),
                protocols: offer.protocols().to_vec(),
            }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::request::fixtures::{self, NOW};

    #[test]
    fn an_open_session_shows_its_links_and_a_settled_one_has_none() {
        let session = fixtures::session(fixtures::one_credential());
        let info = session.info(NOW);
        let link = info.qr_code_url.as_deref().unwrap();
        assert!(link.starts_with("openid4vp://?"), "{link}");
        assert_eq!(info.deep_link(Scheme::OpenId4Vp), Some(link));
        assert_eq!(info.offers[0].deep_link(Scheme::Haip), info.deep_link(Scheme::Haip));
        assert_eq!((info.status, info.reason, info.mode), (Status::Pending, None, Mode::Live));
        assert_eq!(info.offers[0].handle, info.id);

        let late = session.info(session.expires_at());
        assert_eq!(
            (late.status, late.qr_code_url, late.deep_links),
            (Status::Expired, None, vec![])
        );
        assert!(late.offers[0].deep_links.is_empty());
    }

    #[test]
    fn neither_nonce_nor_state_is_in_debug_output() {
        let session = fixtures::session(fixtures::one_credential());
        let info = session.info(NOW);
        let shown = format!("{info:?} {:?}", info.offers[0]);
        assert!(!shown.contains("openid4vp:") && !shown.contains("nonce"), "{shown}");
    }
}
