//! A received DeviceResponse, and a mobile security object that its issuer signed.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{
    ExpectedMdoc, MdocRequest, RootOrigin, TrustAnchor, TrustEntry, verify_mdoc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{IssuerId, UnixMillis};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, MDL, MDL_NAME_SPACE, device_response, openid4vp,
};
use idgate_testkit::x509::Identity;

use super::{NOW_MS, Parts};

const REQUEST: MdocRequest<'static> = MdocRequest {
    client_id: "redirect_uri:https://gateway.example/r",
    nonce: "n-0S6_WzA2Mj",
    response_uri: "https://gateway.example/r",
};
/// The sample's claims.
const SAID: &str = r#"{"family_name":"Mustermann","birth_date":"1984-01-26"}"#;

/// Any response that is still verified has the same claims as before: a changed version digit or an
/// unknown member is not a forgery.
pub(super) fn device_response_target() -> Parts {
    let sample = Sample::new();
    let good = sample.response(&sample.issued);
    assert_eq!(sample.said(&good).as_deref(), Some(SAID));
    let check = move |bytes: &[u8]| assert!(sample.said(bytes).is_none_or(|said| said == SAID));
    (vec![good], Box::new(check))
}

/// Signed again after each change, so that the reader behind the signature is reached.
pub(super) fn mso_target() -> Parts {
    let sample = Sample::new();
    let good = sample.issued.mso.encode();
    let check = move |mso: &[u8]| {
        let issued = IssuerSigned { mso: Cbor::Raw(mso.to_vec()), ..sample.issued.clone() };
        let said = sample.said(&sample.response(&issued));
        assert!(said.is_none_or(|said| said == SAID));
    };
    (vec![good], Box::new(check))
}

/// A sample mdoc, and its verifier.
pub(super) struct Sample {
    trust: TrustEntry,
    pub(super) issued: IssuerSigned,
    device: SigningKey,
    claims: [String; 2],
}

impl Sample {
    pub(super) fn new() -> Self {
        let root = Identity::iaca(Curve::P256, NOW_MS);
        let signer = root.document_signer(Curve::P256, NOW_MS);
        let device = SigningKey::from_seed(Curve::P256, "device");
        let elements = [
            ("family_name", Cbor::from("Mustermann")),
            ("birth_date", Cbor::full_date("1984-01-26")),
            ("issuing_country", "UT".into()),
        ];
        let chain = std::slice::from_ref(&signer.der);
        let issued = IssuerSigned::mdl(&elements, &signer.key, chain, &device, NOW_MS);
        let mut trust = TrustEntry::new(IssuerId::new("utopia"));
        trust
            .roots
            .push(TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap());
        trust.revocation = RevocationPolicy::Off;
        let claims = ["family_name", "birth_date"].map(str::to_owned);
        Self { trust, issued, device, claims }
    }

    pub(super) fn response(&self, issued: &IssuerSigned) -> Vec<u8> {
        self.response_value(issued).encode()
    }

    /// The same before encoding.
    pub(super) fn response_value(&self, issued: &IssuerSigned) -> Cbor {
        let MdocRequest { client_id, nonce, response_uri } = REQUEST;
        let transcript = openid4vp(client_id, nonce, None, response_uri);
        let document = Document::new(issued.clone(), &self.device);
        device_response(vec![document.prove(&transcript, &DeviceProof::Signature)])
    }

    /// The claims, if it is verified.
    pub(super) fn said(&self, response: &[u8]) -> Option<String> {
        let now = UnixMillis(NOW_MS);
        let mut expected = ExpectedMdoc::new(&self.trust, MDL, MDL_NAME_SPACE, REQUEST, now);
        expected.claims = &self.claims;
        let mut report = CredentialReport::default();
        let verified = verify_mdoc(&PROVIDER, response, &expected, &mut report);
        verified.ok().map(|verified| verified.claims().as_json().to_owned())
    }
}

#[cfg(test)]
impl Sample {
    /// With a portrait that gives the response about this many bytes.
    pub(super) fn of_size(bytes: usize) -> Self {
        use idgate_testkit::codec::HashAlg;
        use idgate_testkit::mdoc::Item;
        let mut sample = Self::new();
        let rest = sample.good().len();
        let portrait = Cbor::Bytes(vec![7; bytes.saturating_sub(rest)]);
        sample.issued.items.push(Item::new(MDL_NAME_SPACE, 99, "portrait", portrait));
        sample.issued.digest(HashAlg::Sha256);
        sample
    }

    /// A response that is verified.
    pub(super) fn good(&self) -> Vec<u8> {
        self.response(&self.issued)
    }

    /// One with these certificates in its x5chain.
    pub(super) fn response_with_chain(&self, chain: &[Vec<u8>]) -> Vec<u8> {
        let chain = chain.iter().cloned().map(Cbor::Bytes).collect();
        let mut issued = self.issued.clone();
        issued.unprotected.set(33, Cbor::Array(chain));
        self.response(&issued)
    }

    /// A response whose document was changed after issuer and device signed.
    pub(super) fn shown(&self, change: impl FnOnce(&mut Cbor)) -> Vec<u8> {
        let mut response = self.response_value(&self.issued);
        if let Cbor::Array(documents) = response.at("documents")
            && let Some(document) = documents.first_mut()
        {
            change(document);
        }
        response.encode()
    }
}
