//! The request of a session, and the links that carry it to a wallet.

use alloc::string::String;
use alloc::vec::Vec;

use crate::request::{Invitation, RequestParameters, Scheme, inline_query, request_uri_query};
use crate::session::{ClientIdForm, Delivery, EncryptionKey, Offer, RequestShape, Session};

impl Session {
    /// The request of this session behind `scheme`. Only a session that still takes an answer has
    /// one: a settled session no longer has a nonce or a state.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn deep_link(&self, scheme: Scheme) -> String {
        let profiles: Vec<_> = self.offers.linked().map(Offer::profile).collect();
        let chosen = self.offers.linked().nth(scheme.choice(&profiles));
        self.link(scheme, chosen.unwrap_or(self.offers.own()))
    }

    /// The schemes of the links. `av` is included if the European age app can answer the request.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn schemes(&self) -> impl Iterator<Item = Scheme> {
        Scheme::of(self.suits_age_app())
    }

    /// Whether `av://` leads to a request for proofs of age only, by value, unsigned, with a plain
    /// answer.
    pub(crate) fn suits_age_app(&self) -> bool {
        let profiles: Vec<_> = self.offers.linked().map(Offer::profile).collect();
        let carried = self.offers.linked().nth(Scheme::Av.choice(&profiles));
        carried.is_some_and(|offer| offer.shape == RequestShape::of_age_app())
            && self.request.asks_age_proofs_alone()
    }

    /// The link behind `scheme` to the request of `offer`, which must be one of this session's
    /// linked offers.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn link(&self, scheme: Scheme, offer: &Offer) -> String {
        [scheme.prefix(), &self.query(offer)].concat()
    }

    fn query(&self, offer: &Offer) -> String {
        match offer.shape.delivery {
            Delivery::Inline => inline_query(self.request_parameters(offer)),
            Delivery::RequestUri => request_uri_query(
                offer.client_identifier.as_str(),
                offer.request_uri.as_deref().unwrap_or_default(),
                offer.announces_post,
            ),
            Delivery::Browser => String::new(),
        }
    }

    /// The id of this session's presentation definition; a submission must name it.
    pub(crate) fn definition_id(&self) -> &str {
        self.id.as_str()
    }

    /// The parameters of the request of `offer`.
    pub(crate) fn request_parameters<'r>(&'r self, offer: &'r Offer) -> RequestParameters<'r> {
        RequestParameters {
            profile: offer.profile(),
            client_id: offer.client_identifier.as_str(),
            response_uri: &offer.response_uri,
            nonce: offer.nonce.expose(),
            state: offer.state.expose(),
            encryption_key: offer.encryption_key.as_ref().map(EncryptionKey::public),
            definition_id: self.definition_id(),
            request: &self.request,
            verifier_info: match offer.shape.client_id_form {
                ClientIdForm::X509Hash => &self.verifier_info,
                _ => &[],
            },
        }
    }

    /// The description of this session for the tenant.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn invitation(&self) -> Invitation {
        let offered = |offer| (Offer::profile(offer), self.query(offer));
        Invitation::new(
            self.id.clone(),
            self.livemode,
            self.expires_at,
            self.offers.linked().map(offered).collect(),
            self.suits_age_app(),
        )
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
