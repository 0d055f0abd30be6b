//! One DeviceResponse, against the handovers that its request allows.

use std::path::Path;

use idgate_core::codec::base64url;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{EcdhPrivateKey, Jwk, PublicKey};
use idgate_core::formats::mdoc::Handover;
use idgate_core::time::UnixMillis;
use idgate_core::verify::{CredentialReport, ExpectedMdoc, MdocRequest, verify_mdoc};
use serde_json::{Value, json};

use super::{Failure, Output, VerifyOptions, outcome, read, read_text, trust, unusable};

/// The document type of an mDL (ISO/IEC 18013-5 7.1).
pub(super) const DEFAULT_DOC_TYPE: &str = "org.iso.18013.5.1.mDL";

/// The key that an answer was encrypted to.
struct EncryptionKey {
    thumbprint: [u8; 32],
    /// Only a device MAC needs it.
    private: Option<EcdhPrivateKey>,
}

/// Verifies the DeviceResponse in the file.
pub(super) fn verify(options: &VerifyOptions, at: UnixMillis) -> Result<Output, Failure> {
    let response_uri = options.response_uri.as_deref().ok_or_else(|| {
        Failure::Usage("mso_mdoc needs --response-uri URI: the device signed it".into())
    })?;
    let issuer = trust::certificates(options)?;
    let enc_key = options.enc_key.as_deref().map(encryption_key).transpose()?;
    let apu = options.apu.as_deref().map(mdoc_generated_nonce).transpose()?;
    let bytes = device_response(&options.file)?;
    let handovers = handovers(enc_key.as_ref(), apu.as_deref());
    let request =
        MdocRequest { client_id: &options.client_id, nonce: &options.nonce, response_uri };
    // No elements are asked for, so no namespace matters.
    let mut expected = ExpectedMdoc::new(&issuer, &options.doc_type, "", request, at);
    expected.livemode = !options.test;
    expected.handovers = &handovers;
    expected.reader_key = enc_key.as_ref().and_then(|key| key.private.as_ref());
    let mut report = CredentialReport::default();
    let result = verify_mdoc(&PROVIDER, &bytes, &expected, &mut report);
    Ok(outcome::tell(&report, &result))
}

/// Those of an encrypted answer when something of its encryption is known, in the order in which
/// a session tries them.
fn handovers<'h>(enc_key: Option<&'h EncryptionKey>, apu: Option<&'h str>) -> Vec<Handover<'h>> {
    let by_key = enc_key.map(|key| Handover::OpenId4Vp { jwk_thumbprint: Some(&key.thumbprint) });
    let by_apu = apu.map(|mdoc_generated_nonce| Handover::Iso180137 { mdoc_generated_nonce });
    let encrypted: Vec<_> = by_key.into_iter().chain(by_apu).collect();
    match encrypted.is_empty() {
        true => vec![Handover::OpenId4Vp { jwk_thumbprint: None }],
        false => encrypted,
    }
}

/// base64url as vp_token carries it, or CBOR. The first byte of a CBOR map is never ASCII.
fn device_response(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = read(path)?;
    let text = std::str::from_utf8(&file).ok();
    Ok(text.and_then(|text| base64url::decode(text.trim()).ok()).unwrap_or(file))
}

fn encryption_key(path: &Path) -> Result<EncryptionKey, Failure> {
    let jwk: Value =
        serde_json::from_str(&read_text(path)?).map_err(|_| unusable(path, "is not JSON"))?;
    let member = |name: &str| jwk.get(name).cloned().unwrap_or_default();
    // Whatever else it says about its use, it is for key agreement here.
    let public = json!({
        "kty": member("kty"), "crv": member("crv"), "x": member("x"), "y": member("y"),
    });
    let public = Jwk::parse(public.to_string().as_bytes()).map_err(|why| unusable(path, why))?.key;
    let private = jwk.get("d").map(|scalar| private_key(&public, scalar));
    let private = private.map(|key| key.ok_or_else(|| unusable(path, "has no usable d")));
    Ok(EncryptionKey { thumbprint: public.thumbprint(&PROVIDER), private: private.transpose()? })
}

fn private_key(public: &PublicKey, scalar: &Value) -> Option<EcdhPrivateKey> {
    let scalar = base64url::decode(scalar.as_str()?).ok()?;
    EcdhPrivateKey::from_scalar(public.curve(), &scalar).ok()
}

/// ISO/IEC TS 18013-7 B.4.4: the nonce is text.
fn mdoc_generated_nonce(apu: &str) -> Result<String, Failure> {
    let bytes = base64url::decode(apu).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        Failure::Usage("--apu: write it in base64url, as in the header of the answer".into())
    })
}
