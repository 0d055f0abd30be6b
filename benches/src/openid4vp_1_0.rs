//! Presentations for OpenID4VP 1.0 and HAIP with both back ends: claims by path, the client identifier
//! of a certificate as audience, and the transcript of an encrypted answer. Shapes and floors are those
//! of the `draft` rows.

use idgate_core::crypto::{aws_lc_rs, rustcrypto};
use idgate_core::shell::{
    ExpectedMdoc, Handover, MdocRequest, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot,
    verify_mdoc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{ClaimPath, CryptoProvider, IssuerId, UnixMillis};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, MDL, MDL_NAME_SPACE, device_response, openid4vp,
};
use idgate_testkit::samples;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

use crate::data::Input;
use crate::floor::Backend;
use crate::measure::Case;
use crate::sd_jwt::{self, Asked};
use crate::{floor_mdoc, grown};

const SD_JWT: &str = "1_0_sd_jwt_es256_10of30";
const MDOC: &str = "1_0_mdoc_es256_6of25_chain1";
const ISSUED: u64 = grown::PRESENTED_AT * 1000;
const NOW: UnixMillis = UnixMillis::from_secs(grown::PRESENTED_AT + 5);
/// These rows do not encrypt. Only the thumbprint of the key is part of the transcript.
const THUMBPRINT: [u8; 32] = [7; 32];
const REQUEST: MdocRequest<'_> = MdocRequest {
    client_id: "x509_hash:Uvo3HtuIxuhC92rShpgqcT3YXwrqRxWEviRiA0OZszk",
    nonce: "n-0S6_WzA2Mj-bench-of-1.0",
    response_uri: "https://verifier.example/oid4vp/response/ses_bench",
};

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let backends =
        [(aws_lc_rs::PROVIDER, Backend::AwsLcRs), (rustcrypto::PROVIDER, Backend::RustCrypto)];
    let mut cases = Vec::new();
    for (provider, backend) in backends {
        if SD_JWT.contains(only) {
            cases.push(by_path(provider, backend)?);
        }
        if MDOC.contains(only) {
            cases.push(mdoc(provider)?);
        }
    }
    Ok(cases)
}

fn by_path(provider: CryptoProvider, backend: Backend) -> Result<Case, String> {
    let input: &'static Input = Box::leak(Box::new(grown::presentation_of(30, 10)?));
    let paths = input.claims.iter().map(|name| {
        let path = ClaimPath::from_json(&format!("[\"{name}\"]"));
        path.map(|path| (name.clone(), path)).map_err(|error| error.to_string())
    });
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let asked = Asked { paths, vct: vec![samples::VCT.to_owned()] };
    Ok(sd_jwt::case(SD_JWT, input, asked, provider, backend))
}

fn mdoc(provider: CryptoProvider) -> Result<Case, String> {
    let Licence { root, response } = licence();
    let transcript =
        openid4vp(REQUEST.client_id, REQUEST.nonce, Some(&THUMBPRINT), REQUEST.response_uri);
    let mut issuer = TrustEntry::new(IssuerId::new(samples::MDL_ISSUER));
    let anchor = TrustAnchor::from_der(&provider, &root, RootOrigin::RootFile);
    issuer.roots.push(anchor.map_err(|error| error.to_string())?);
    issuer.revocation = RevocationPolicy::Off;
    let trust: &'static TrustSnapshot = Box::leak(Box::new(TrustSnapshot::new(1, [issuer])));
    let issuer = trust.entry(&IssuerId::new(samples::MDL_ISSUER)).ok_or("no trust entry")?;
    let response: &'static [u8] = Box::leak(response.into_boxed_slice());
    let claims: Vec<String> = shown().collect();
    let idgate = move || {
        let handovers = [Handover::OpenId4Vp { jwk_thumbprint: Some(&THUMBPRINT) }];
        let mut expected = ExpectedMdoc::new(issuer, MDL, MDL_NAME_SPACE, REQUEST, NOW);
        (expected.handovers, expected.claims) = (&handovers, &claims);
        let mut report = CredentialReport::default();
        let verified = verify_mdoc(&provider, response, &expected, &mut report);
        assert!(verified.is_ok_and(|v| v.claims().names().count() == claims.len()));
    };
    let root_key = floor_mdoc::point(&root);
    let floor = move || assert!(floor_mdoc::verify(response, &transcript, Some(&root_key)));
    Ok(case(MDOC, &provider, idgate, floor))
}

fn case(
    name: &str,
    provider: &CryptoProvider,
    idgate: impl Fn() + 'static,
    floor: impl Fn() + 'static,
) -> Case {
    let (idgate, floor) = (Box::new(idgate), Box::new(floor));
    Case { name: name.into(), backend: provider.name, idgate, floor }
}

/// A licence of 25 elements, six of them disclosed.
struct Licence {
    /// DER.
    root: Vec<u8>,
    /// A DeviceResponse.
    response: Vec<u8>,
}

fn shown() -> impl Iterator<Item = String> {
    (0..6).map(grown::claim)
}

fn licence() -> Licence {
    let root = Identity::iaca(Curve::P256, ISSUED);
    let key = SigningKey::from_seed(Curve::P256, "bench document signer");
    let name = Name::new("UT", "Bench document signer");
    let signer = CertificateBuilder::document_signer(&root, name, &key, ISSUED).issue(&root, &key);
    let names: Vec<String> = (0..25).map(grown::claim).collect();
    let elements: Vec<(&str, Cbor)> = names.iter().map(|n| (n.as_str(), "value".into())).collect();
    let device = grown::holder_key();
    let mut issued = IssuerSigned::mdl(&elements, &key, &[signer.der], &device, ISSUED);
    issued.items.truncate(6);
    let transcript =
        openid4vp(REQUEST.client_id, REQUEST.nonce, Some(&THUMBPRINT), REQUEST.response_uri);
    let document = Document::new(issued, &device).prove(&transcript, &DeviceProof::Signature);
    Licence { root: root.der, response: device_response(vec![document]).encode() }
}
