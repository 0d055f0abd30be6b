//! The rules of an mdoc presentation (ISO/IEC 18013-5 8.3, 9.1 and 9.3) that `mdoc_tamper` cannot
//! express: trust and request, other curves, limits, and the contents of a result. Each runs on
//! both back ends, next to the good presentation that differs only in that point.

mod device;
mod elements;
mod issuer;
mod structure;

use std::sync::Arc;

use idgate_core::crypto::{Alg, EcdhPrivateKey, aws_lc_rs, rustcrypto};
use idgate_core::shell::{
    ExpectedMdoc, Handover, MdocRequest, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot,
    VerifiedCredential, verify_mdoc,
};
use idgate_core::trust::{DeviceResponseDocuments, RevocationPolicy};
use idgate_core::verify::CredentialReport;
use idgate_core::{
    CryptoProvider, Expected, IssuerId, Mode, Reason, Refused, Sent, Transcript, Trust, UnixMillis,
};
use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, MDL, MDL_NAME_SPACE, device_response, iso_18013_7,
    openid4vp,
};
use idgate_testkit::x509::Identity;

const NOW: u64 = 1_800_000_000_000;
const DAY: u64 = 86_400_000;
const REQUEST: MdocRequest<'static> = MdocRequest {
    client_id: "redirect_uri:https://gateway.example/v1/oid4vp/response/ses_1",
    nonce: "n-0S6_WzA2Mj",
    response_uri: "https://gateway.example/v1/oid4vp/response/ses_1",
};
const PROVIDERS: [CryptoProvider; 2] = [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER];

type Verdict = Result<VerifiedCredential, Reason>;

/// A presentation in the making, and the expectation.
struct Case {
    signer: Identity,
    trust: TrustEntry,
    document: Document,
    proof: DeviceProof,
    transcript: Vec<u8>,
    /// The last change before encoding.
    response: fn(&mut Cbor),
    livemode: bool,
    documents: DeviceResponseDocuments,
    alg: Option<Alg>,
    doc_type: &'static str,
    claims: Vec<String>,
    mdoc_generated_nonce: Option<&'static str>,
    reader_key: Option<EcdhPrivateKey>,
    now: u64,
}

impl Case {
    fn new() -> Self {
        Self::on(Curve::P256)
    }

    fn on(curve: Curve) -> Self {
        let root = Identity::iaca(curve, NOW);
        let signer = root.document_signer(curve, NOW);
        let device = SigningKey::from_seed(curve, "device");
        let elements = [
            ("family_name", "Mustermann".into()),
            ("birth_date", Cbor::full_date("1984-01-26")),
            ("age_over_18", true.into()),
            ("issuing_country", "UT".into()),
            ("portrait", Cbor::Bytes(vec![7; 64])),
        ];
        let chain = [signer.der.clone()];
        let issued = IssuerSigned::mdl(&elements, &signer.key, &chain, &device, NOW);
        let mut trust = TrustEntry::new(IssuerId::new("utopia"));
        trust
            .roots
            .push(TrustAnchor::from_der(&PROVIDERS[0], &root.der, RootOrigin::RootFile).unwrap());
        trust.revocation = RevocationPolicy::Off;
        Self {
            signer,
            trust,
            document: Document::new(issued, &device),
            proof: DeviceProof::Signature,
            transcript: openid4vp(REQUEST.client_id, REQUEST.nonce, None, REQUEST.response_uri),
            response: |_| {},
            livemode: true,
            documents: DeviceResponseDocuments::Any,
            alg: None,
            doc_type: MDL,
            claims: vec!["family_name".into()],
            mdoc_generated_nonce: None,
            reader_key: None,
            now: NOW,
        }
    }

    fn issued(&mut self) -> &mut IssuerSigned {
        &mut self.document.issuer_signed
    }

    /// Recomputes the digests after items were changed.
    fn digest(&mut self) {
        self.issued().digest(HashAlg::Sha256);
    }

    fn bytes(&self) -> Vec<u8> {
        let mut response =
            device_response(vec![self.document.prove(&self.transcript, &self.proof)]);
        (self.response)(&mut response);
        response.encode()
    }

    #[track_caller]
    fn verify(&self) -> Verdict {
        self.verify_bytes(&self.bytes())
    }

    /// The verdict, which is the same on both back ends, and again once the signer is remembered.
    #[track_caller]
    fn verify_bytes(&self, bytes: &[u8]) -> Verdict {
        let trust = TrustSnapshot::new(1, [self.trust.clone()]);
        let entry = trust.entry(&self.trust.issuer_id).unwrap();
        let mut handovers = vec![Handover::OpenId4Vp { jwk_thumbprint: None }];
        if let Some(mdoc_generated_nonce) = self.mdoc_generated_nonce {
            handovers.push(Handover::Iso180137 { mdoc_generated_nonce });
        }
        let now = UnixMillis(self.now);
        let mut expected = ExpectedMdoc::new(entry, self.doc_type, MDL_NAME_SPACE, REQUEST, now);
        expected.livemode = self.livemode;
        expected.alg = self.alg;
        expected.documents = self.documents;
        expected.claims = &self.claims;
        expected.handovers = &handovers;
        expected.reader_key = self.reader_key.as_ref();
        let verdict_of = |provider: CryptoProvider, expected: &ExpectedMdoc<'_>| {
            let mut report = CredentialReport::default();
            let verdict = verify_mdoc(&provider, bytes, expected, &mut report);
            assert_eq!(report.failed.is_some(), verdict.is_err());
            verdict.map_err(|error| error.reason)
        };
        let [one, other] = PROVIDERS.map(|provider| verdict_of(provider, &expected));
        assert_eq!(one.as_ref().err(), other.as_ref().err());
        let expected = expected.remembering(&trust);
        for _ in 0..2 {
            let again = verdict_of(PROVIDERS[0], &expected);
            assert_eq!(one.as_ref().err(), again.as_ref().err(), "with a known signer");
        }
        if self.mdoc_generated_nonce.is_none()
            && self.reader_key.is_none()
            && self.documents == DeviceResponseDocuments::Any
        {
            self.is_the_same_by_the_front_door(&one, bytes, trust.clone());
        }
        one
    }

    /// A program that verifies a single presentation gets the same verdict and the same claims.
    #[track_caller]
    fn is_the_same_by_the_front_door(&self, verdict: &Verdict, bytes: &[u8], trust: TrustSnapshot) {
        let now = UnixMillis(self.now);
        let claims: Vec<&str> = self.claims.iter().map(String::as_str).collect();
        let sent = Sent { client_id: REQUEST.client_id, nonce: REQUEST.nonce, at: now };
        let transcript = Transcript::draft(REQUEST.response_uri);
        let issuer = self.trust.issuer_id.as_str();
        let mode = if self.livemode { Mode::Live } else { Mode::Test };
        let expected = Expected::mdoc(issuer, self.doc_type, MDL_NAME_SPACE, transcript, sent);
        let mut expected = expected.claims(&claims).mode(mode);
        if let Some(alg) = self.alg {
            expected = expected.alg(alg);
        }
        let trust = Trust::of_snapshot(PROVIDERS[0], Arc::new(trust));
        let door = trust.verify(&base64url(bytes), &expected, now);
        assert_eq!(verdict.as_ref().err().copied(), door.as_ref().err().map(Refused::reason));
        if let (Ok(verdict), Ok(door)) = (verdict, &door) {
            assert_eq!(verdict.claims().as_json(), door.claims_json());
        }
    }
}

/// The good presentation with one change is rejected for this reason.
#[track_caller]
fn refused(reason: Reason, change: impl FnOnce(&mut Case)) {
    let mut case = Case::new();
    change(&mut case);
    assert_eq!(case.verify().err(), Some(reason));
}

/// The good presentation with one change is still accepted.
#[track_caller]
fn accepted(change: impl FnOnce(&mut Case)) -> VerifiedCredential {
    let mut case = Case::new();
    change(&mut case);
    case.verify().unwrap()
}

#[test]
fn a_good_presentation_is_accepted_on_every_curve() {
    for (curve, alg) in Curve::ALL.into_iter().zip(Alg::ALL) {
        let verified = Case::on(curve).verify().unwrap();
        assert_eq!(verified.claims().as_json(), r#"{"family_name":"Mustermann"}"#);
        let facts = verified.facts();
        assert_eq!((&*facts.credential_type, facts.alg), (MDL, alg));
        assert_eq!(
            (facts.holder_binding.name(), facts.trust.name()),
            ("device_signature", "x5chain")
        );
        assert_eq!(facts.session_transcript, Some("openid4vp-1.0"));
        assert_eq!(facts.valid_from, Some(UnixMillis(NOW)));
        assert_eq!(facts.valid_until, Some(UnixMillis(NOW + 30 * DAY)));
        assert!(facts.issuer.as_deref().is_some_and(|issuer| issuer.contains("Utopia IACA")));
    }
}
