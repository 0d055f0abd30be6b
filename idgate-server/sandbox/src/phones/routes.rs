//! The paths of the issuers: well-known documents at the root of the origin, in both possible
//! places, and everything else below the issuer's path.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use idgate_server::http::AddedRoutes;
use serde_json::json;

use super::metadata::LOGO;
use super::refusal::{Refusal, no_store, of_type};
use super::{Issuer, Phones, Said};
use crate::limits::MAX_PHONE_BODY_BYTES;

const ISSUER_METADATA: &str = ".well-known/openid-credential-issuer";
const SERVER_METADATA: &str = ".well-known/oauth-authorization-server";

/// The routes added to the gateway. They answer once the gateway's own address is known.
#[derive(Clone, Default)]
pub(crate) struct PhoneRoutes(Arc<OnceLock<Arc<Phones>>>);

/// A path of an issuer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place<'p> {
    IssuerMetadata,
    ServerMetadata,
    Offer(&'p str),
    Token,
    Nonce,
    Credential,
    Notification,
    Authorize,
    Par,
    Logo,
    /// Status lists and the CRL.
    Published(&'p str),
}

impl PhoneRoutes {
    /// Starts answering with `phones`.
    pub(crate) fn open(&self, phones: Arc<Phones>) {
        // The gateway starts only once.
        let _once = self.0.set(phones);
    }
}

impl AddedRoutes for PhoneRoutes {
    fn template(&self, path: &str) -> Option<&'static str> {
        let (place, attested) = find(path)?;
        Some(place.template(attested))
    }

    fn max_body_bytes(&self) -> usize {
        MAX_PHONE_BODY_BYTES
    }

    fn answer(&self, head: &Parts, body: Option<Bytes>) -> Response<Bytes> {
        match (self.0.get(), find(head.uri.path())) {
            (Some(phones), Some((place, attested))) => {
                let issuer = phones.issuer(attested);
                phones.answer(place, Asked { issuer, head, body: body.as_ref() })
            }
            _ => Refusal::unavailable("the sandbox is starting").answer(),
        }
    }
}

/// A request to one of the two issuers.
#[derive(Clone, Copy)]
pub(super) struct Asked<'r> {
    pub(super) issuer: &'r Issuer,
    pub(super) head: &'r Parts,
    /// `None` if it is too long.
    pub(super) body: Option<&'r Bytes>,
}

impl Phones {
    fn answer(&self, place: Place<'_>, asked: Asked<'_>) -> Response<Bytes> {
        let (issuer, mut said) = (asked.issuer, Said::default());
        let answered = self.charge(issuer).and_then(|()| {
            place.check_method(&asked.head.method)?;
            self.answer_at(place, asked, &mut said)
        });
        let answered = answered.inspect_err(|refusal| {
            (said.progress, said.reason) = (None, Some(refusal.rule));
        });
        self.say(place, issuer, &said, answered.as_ref().err());
        answered.unwrap_or_else(Refusal::answer)
    }

    fn answer_at(
        &self,
        place: Place<'_>,
        asked: Asked<'_>,
        said: &mut Said,
    ) -> Result<Response<Bytes>, Refusal> {
        let Asked { issuer, head, body } = asked;
        let now_ms = self.now_ms();
        match place {
            Place::IssuerMetadata => {
                if self.inner().offers.metadata_was_read(issuer.attested, now_ms) {
                    tracing::info!(issuer = issuer.id, "offer: metadata fetched");
                }
                Ok(of_type("application/json", issuer.metadata().to_string()))
            }
            Place::ServerMetadata => {
                Ok(of_type("application/json", issuer.server_metadata().to_string()))
            }
            Place::Offer(reference) => {
                let found = self.inner().offers.behind(reference, issuer.attested, now_ms);
                let found = found.ok_or_else(|| {
                    Refusal::not_found("there is no such offer, or it was used or has expired")
                })?;
                Ok(no_store(StatusCode::OK, &found))
            }
            Place::Token => {
                let body = body.ok_or_else(too_long)?;
                self.token(issuer, head, body, said)
            }
            Place::Nonce => {
                let nonce = self.inner().nonces(issuer).make(now_ms);
                let nonce =
                    nonce.map_err(|_| Refusal::unavailable("the system has no random bytes"))?;
                Ok(no_store(StatusCode::OK, &json!({ "c_nonce": nonce })))
            }
            Place::Credential => self.credential(asked, said),
            Place::Notification => self.notification(asked, said),
            Place::Authorize => Err(Refusal::new(
                "unsupported_response_type",
                "this issuer accepts only pre-authorized codes",
            )),
            Place::Par => Err(Refusal::new(
                "unauthorized_client",
                "this issuer accepts only pre-authorized codes",
            )),
            Place::Logo => Ok(of_type("image/png", LOGO)),
            Place::Published(what) => {
                let (media_type, bytes) = self
                    .published(what)
                    .ok_or_else(|| Refusal::not_found("there is nothing at this path"))?;
                Ok(of_type(media_type, bytes))
            }
        }
    }

    /// Stores the progress of the offer, and logs the request: endpoint, configuration, type of
    /// proof and rule, and nothing about the wallet.
    fn say(&self, place: Place<'_>, issuer: &Issuer, said: &Said, refusal: Option<&Refusal>) {
        let mut progress = None;
        // A request without a code or token changes no offer.
        if let Some(offer) = self.inner().offers.get_mut(&said.offer) {
            let is_new = match (refusal, said.progress) {
                (Some(refusal), _) => offer.is_refused(refusal.rule),
                (None, Some(progress)) => offer.is_at(progress, said.reason),
                (None, None) => false,
            };
            progress = is_new.then_some(offer.progress);
        }
        let endpoint = place.template(issuer.attested);
        let (configuration, proof_type) = (said.configuration, said.proof_type);
        // A rate-limited request is not a failure of the offer.
        let refusal = refusal.filter(|one| one.status != StatusCode::TOO_MANY_REQUESTS);
        if let Some(refusal) = refusal {
            let error = refusal.error.unwrap_or("no token");
            let rule = refusal.rule;
            tracing::info!(endpoint, configuration, proof_type, error, rule, "issuer: refused");
        }
        if let Some(progress) = progress {
            let rule = said.reason;
            let progress = progress.name();
            tracing::info!(
                offer = said.offer,
                configuration,
                proof_type,
                rule,
                "offer: {progress}"
            );
        }
    }
}

impl Place<'_> {
    fn check_method(self, method: &Method) -> Result<(), Refusal> {
        let posts = matches!(self, Self::Token | Self::Nonce | Self::Credential)
            || matches!(self, Self::Notification | Self::Par);
        match (posts, method) {
            (true, &Method::POST) | (false, &Method::GET | &Method::HEAD) => Ok(()),
            (true, _) => Err(Refusal::method("POST")),
            (false, _) => Err(Refusal::method("GET, HEAD")),
        }
    }

    const fn template(self, attested: bool) -> &'static str {
        match (self, attested) {
            (Self::IssuerMetadata, false) => "/.well-known/openid-credential-issuer/vci",
            (Self::IssuerMetadata, true) => "/.well-known/openid-credential-issuer/vci-attested",
            (Self::ServerMetadata, false) => "/.well-known/oauth-authorization-server/vci",
            (Self::ServerMetadata, true) => "/.well-known/oauth-authorization-server/vci-attested",
            (Self::Offer(_), false) => "/vci/offers/{id}",
            (Self::Offer(_), true) => "/vci-attested/offers/{id}",
            (Self::Token, false) => "/vci/token",
            (Self::Token, true) => "/vci-attested/token",
            (Self::Nonce, false) => "/vci/nonce",
            (Self::Nonce, true) => "/vci-attested/nonce",
            (Self::Credential, false) => "/vci/credential",
            (Self::Credential, true) => "/vci-attested/credential",
            (Self::Notification, false) => "/vci/notification",
            (Self::Notification, true) => "/vci-attested/notification",
            (Self::Authorize, false) => "/vci/authorize",
            (Self::Authorize, true) => "/vci-attested/authorize",
            (Self::Par, false) => "/vci/par",
            (Self::Par, true) => "/vci-attested/par",
            (Self::Logo, false) => "/vci/logo.png",
            (Self::Logo, true) => "/vci-attested/logo.png",
            (Self::Published(_), false) => "/vci/{list}",
            (Self::Published(_), true) => "/vci-attested/{list}",
        }
    }
}

/// The endpoint at `path`, and whether it is the issuer that requires attestations.
fn find(path: &str) -> Option<(Place<'_>, bool)> {
    let path = path.strip_prefix('/')?;
    let issuer = |name: &str| match name {
        "vci" => Some(false),
        "vci-attested" => Some(true),
        _ => None,
    };
    // Inserted between host and path (OpenID4VCI 12.2.2, RFC 8414 3.1).
    for (document, place) in
        [(ISSUER_METADATA, Place::IssuerMetadata), (SERVER_METADATA, Place::ServerMetadata)]
    {
        if let Some(name) = path.strip_prefix(document).and_then(|rest| rest.strip_prefix('/')) {
            return Some((place, issuer(name)?));
        }
    }
    let (name, rest) = path.split_once('/')?;
    let attested = issuer(name)?;
    let place = match rest {
        // Appended, as in drafts.
        ISSUER_METADATA => Place::IssuerMetadata,
        SERVER_METADATA => Place::ServerMetadata,
        "token" => Place::Token,
        "nonce" => Place::Nonce,
        "credential" => Place::Credential,
        "notification" => Place::Notification,
        "authorize" => Place::Authorize,
        "par" => Place::Par,
        "logo.png" => Place::Logo,
        "status.jwt" | "status.cwt" | "crl" if !attested => Place::Published(rest),
        _ => match rest.split_once('/') {
            Some(("offers", reference)) if !reference.is_empty() && !reference.contains('/') => {
                Place::Offer(reference)
            }
            _ => return None,
        },
    };
    Some((place, attested))
}

fn too_long() -> Refusal {
    let refusal = Refusal::new("invalid_request", "the body is too long");
    refusal.with_status(StatusCode::PAYLOAD_TOO_LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_documents_are_at_the_root_and_below_the_issuer() {
        for (name, attested) in [("vci", false), ("vci-attested", true)] {
            for (document, place) in
                [(ISSUER_METADATA, Place::IssuerMetadata), (SERVER_METADATA, Place::ServerMetadata)]
            {
                assert_eq!(find(&format!("/{document}/{name}")), Some((place, attested)));
                assert_eq!(find(&format!("/{name}/{document}")), Some((place, attested)));
            }
        }
    }

    #[test]
    fn other_paths_are_unknown() {
        for path in [
            "/",
            "/vci",
            "/vci/",
            "/vci/offers",
            "/vci/offers/",
            "/vci/offers/a/b",
            "/vci/../page",
            "/vcix/token",
            "/.well-known/openid-credential-issuer",
            "/.well-known/openid-credential-issuer/other",
            "/vci-attested/crl",
            "/v1/sessions",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
    }
}
