//! The offers of a session. A session has one to four: requests of one profile each, with a nonce,
//! a state and a key of their own, so that an answer fits exactly one. The first answer settles the
//! session.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ids::{ClientIdentifier, Nonce, OfferId, State};
use crate::limits::MAX_OFFERS;
use crate::request::Profile;
use crate::session::{
    BrowserOffer, ClientIdForm, DcApiProtocol, Delivery, EncryptionKey, IsoMdocOffer, RequestShape,
    ResponseEncryption,
};

/// One request of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Offer {
    /// `None`: the session's own offer, behind the session's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<OfferId>,
    #[serde(rename = "profile")]
    pub(crate) shape: RequestShape,
    pub(crate) client_identifier: ClientIdentifier,
    /// The `key_id` of the signer, now and after renewals. `None`: the request is unsigned, or was
    /// stored before signers had names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signer: Option<String>,
    pub(crate) response_uri: String,
    /// The URI of the Request Object; `None`: the request travels by value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_uri: Option<String>,
    /// The key that the answer is encrypted to, until the settlement; `None`: answers are plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encryption_key: Option<EncryptionKey>,
    pub(crate) nonce: Nonce,
    pub(crate) state: State,
    /// Whether the link says `request_uri_method=post` (OpenID4VP 5.10).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) announces_post: bool,
    /// The part for a page's browser; if it is set, no link carries the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) browser: Option<BrowserOffer>,
}

impl Offer {
    /// The id that replaces the session's id in the offer's URIs; `None`: the session's own offer.
    pub fn id(&self) -> Option<&OfferId> {
        self.id.as_ref()
    }

    /// The profile that its request speaks.
    pub fn profile(&self) -> Profile {
        self.shape.profile
    }

    /// How the request is made and the answer read.
    pub fn shape(&self) -> &RequestShape {
        &self.shape
    }

    /// The audience that a holder's proof must name; for an offer to a browser, that of the first
    /// of [`Offer::origins`].
    pub fn client_identifier(&self) -> &ClientIdentifier {
        &self.client_identifier
    }

    /// The [`crate::crypto::RequestSigner::key_id`] of the signer, if the request goes by
    /// reference.
    pub fn signer(&self) -> Option<&str> {
        self.signer.as_deref()
    }

    /// The URI that the wallet posts its answer to; empty if the answer comes back through a
    /// browser.
    pub fn response_uri(&self) -> &str {
        &self.response_uri
    }

    /// The URI of the Request Object, if the request goes by reference.
    pub fn request_uri(&self) -> Option<&str> {
        self.request_uri.as_deref()
    }

    /// The allowed origins of pages that pass the request to their browser; empty for a linked
    /// offer.
    pub fn origins(&self) -> &[String] {
        self.browser.as_ref().map_or(&[], |browser| &browser.origins)
    }

    /// The protocols that such a page passes on, in that order.
    pub fn protocols(&self) -> &[DcApiProtocol] {
        self.browser.as_ref().map_or(&[], |browser| &browser.protocols)
    }

    /// Whether the offer goes to wallets under a client identifier of this form; an offer to a
    /// browser may have several.
    pub fn goes_by(&self, form: ClientIdForm) -> bool {
        let identities = self.browser.iter().flat_map(|browser| &browser.identities);
        self.shape.client_id_form == form || identities.into_iter().any(|it| it.form == form)
    }

    /// Whether a link carries the offer.
    pub fn is_linked(&self) -> bool {
        self.shape.delivery != Delivery::Browser
    }

    /// Erases the keys: no more answers are accepted.
    pub(super) fn close(&mut self) {
        self.nonce = Nonce::new("");
        self.state = State::new("");
        self.encryption_key = None;
        self.browser.iter_mut().filter_map(|it| it.iso_mdoc.as_mut()).for_each(IsoMdocOffer::close);
    }

    /// Whether answers are to be encrypted to a key that is gone, as it is after the settlement.
    pub(crate) fn lacks_key(&self) -> bool {
        self.is_encrypted() && self.encryption_key.is_none()
    }

    /// The places of the private keys, each with whether it must have a key.
    pub(super) fn keys_mut(&mut self) -> impl Iterator<Item = (bool, &mut Option<EncryptionKey>)> {
        let own = (self.is_encrypted(), &mut self.encryption_key);
        let iso_mdoc = self.browser.iter_mut().filter_map(|browser| browser.iso_mdoc.as_mut());
        core::iter::once(own).chain(iso_mdoc.map(|it| (true, &mut it.encryption_key)))
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.shape.response == ResponseEncryption::EcdhEs
    }
}

/// The offers of a session, in the order in which the tenant listed their profiles.
#[derive(Clone, Debug)]
pub(crate) struct Offers {
    own: Offer,
    others: Vec<Offer>,
}

impl Offers {
    /// A single offer, which is the session's own.
    pub(crate) fn one(own: Offer) -> Self {
        Self { own, others: Vec::new() }
    }

    /// `None` if there are no offers or too many, if not exactly the first one is without an id, if
    /// that one is not linked, or if more than one goes to a browser.
    pub(crate) fn new(offers: Vec<Offer>) -> Option<Self> {
        let mut offers = offers.into_iter();
        let own = offers.next().filter(|own| own.id.is_none() && own.is_linked())?;
        let others: Vec<_> = offers.collect();
        let browsers = others.iter().filter(|offer| !offer.is_linked()).count();
        let named = others.iter().all(|offer| offer.id.is_some());
        let fits = others.len() < MAX_OFFERS && browsers <= 1 && named;
        fits.then_some(Self { own, others })
    }

    pub(crate) fn own(&self) -> &Offer {
        &self.own
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Offer> {
        core::iter::once(&self.own).chain(&self.others)
    }

    /// The linked offers.
    pub(crate) fn linked(&self) -> impl Iterator<Item = &Offer> {
        self.iter().filter(|offer| offer.is_linked())
    }

    /// The offer for browsers.
    pub(crate) fn browser(&self) -> Option<(&Offer, &BrowserOffer)> {
        self.iter().find_map(|offer| Some((offer, offer.browser.as_ref()?)))
    }

    /// The places of the private keys, each with whether it must have a key.
    pub(super) fn keys_mut(&mut self) -> impl Iterator<Item = (bool, &mut Option<EncryptionKey>)> {
        self.iter_mut().flat_map(Offer::keys_mut)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Offer> {
        core::iter::once(&mut self.own).chain(&mut self.others)
    }

    /// The linked offer with this id; without an id the session's own.
    pub(crate) fn find(&self, id: Option<&OfferId>) -> Option<&Offer> {
        self.linked().find(|offer| offer.id() == id)
    }
}

impl Serialize for Offers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Offers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let offers = Vec::deserialize(deserializer)?;
        Self::new(offers).ok_or_else(|| de::Error::custom("not the offers of a session"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures;

    fn own() -> Offer {
        fixtures::session(fixtures::one_credential()).offers.own().clone()
    }

    fn other(id: &str) -> Offer {
        Offer { id: Some(OfferId::new(id)), ..own() }
    }

    #[test]
    fn an_offer_is_found_by_its_id_and_the_sessions_own_without_one() {
        let offers = Offers::new(vec![own(), other("off_1"), other("off_2")]).unwrap();
        for id in [None, Some(OfferId::new("off_1")), Some(OfferId::new("off_2"))] {
            assert_eq!(offers.find(id.as_ref()).unwrap().id(), id.as_ref());
        }
        assert!(offers.find(Some(&OfferId::new("off_3"))).is_none());
        assert!(offers.find(Some(&OfferId::new(""))).is_none());
    }

    #[test]
    fn a_session_has_one_to_four_offers_and_the_first_is_its_own() {
        for bad in [
            vec![],
            vec![other("off_1")],
            vec![own(), own()],
            vec![own(), other("a"), other("b"), other("c"), other("d")],
        ] {
            let stored = serde_json::to_string(&bad).unwrap();
            assert!(Offers::new(bad).is_none());
            assert!(serde_json::from_str::<Offers>(&stored).is_err());
        }
        let most = vec![own(), other("a"), other("b"), other("c")];
        assert_eq!(Offers::new(most).unwrap().iter().count(), MAX_OFFERS);
    }
}
