//! The signed Request Object (5, 5.8, 5.10, RFC 9101) and the client that signed it (5.9.3).

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::{Map, Value};
use url::Url;

use super::certificate::{Certificate, check_path};
use super::findings::Findings;
use super::request::{Expected, Fetched, Prefix};
use crate::codec::from_base64url;
use crate::jws;
use crate::request_object::point_of;

const MINUTE: u64 = 60;

/// Header and claims of the Request Object, and their faults as an envelope.
pub(super) fn read(
    client_id: &str,
    fetched: &Fetched,
    expected: &Expected,
    findings: &mut Findings,
) -> (Value, Map<String, Value>) {
    let header = jws::header(&fetched.jwt).unwrap_or_default();
    let claims = jws::payload(&fetched.jwt).and_then(|claims| claims.as_object().cloned());
    findings.must("request_object", header.is_object() && claims.is_some(), "not a compact JWS");
    let claims = claims.unwrap_or_default();
    let media_type = fetched.content_type.split(';').next().unwrap_or_default().trim();
    let is_request = media_type == "application/oauth-authz-req+jwt";
    findings.must("media_type", is_request, media_type);
    let [typ, alg] = ["typ", "alg"].map(|name| header.get(name).unwrap_or(&Value::Null));
    findings.must("typ", typ == "oauth-authz-req+jwt", typ);
    findings.must("alg", alg == "ES256", alg);
    let own = claims.get("client_id").and_then(Value::as_str).unwrap_or_default();
    findings.must("client_id_equal", own == client_id, own);
    let nonce = claims.get("wallet_nonce").and_then(Value::as_str);
    let echoed = nonce == fetched.wallet_nonce.as_deref();
    findings.must("wallet_nonce", echoed, nonce.unwrap_or("missing"));
    check_dates(&claims, expected.now_ms / 1000, findings);
    let aud = claims.get("aud").unwrap_or(&Value::Null);
    findings.should("aud", aud == "https://self-issued.me/v2", aud);
    let point = match expected.prefix.is_x509() {
        true => certified_point(client_id, &header, &claims, expected, findings),
        false => did_point(client_id, &header, expected, findings),
    };
    let verified = point.and_then(|point| verify(&fetched.jwt, &point));
    findings.must("signature", verified.is_some(), "");
    (header, claims)
}

fn check_dates(claims: &Map<String, Value>, now: u64, findings: &mut Findings) {
    let date = |name: &str| claims.get(name).map(|date| date.as_u64().unwrap_or_default());
    findings.should("iat", date("iat").is_some(), "missing");
    findings.must("iat_past", date("iat").is_none_or(|iat| iat <= now + MINUTE), "ahead of now");
    findings.must("exp_future", date("exp").is_none_or(|exp| exp > now), "over");
}

/// The key of the leaf of `x5c`, which is the client's (5.9.3, H5).
fn certified_point(
    client_id: &str,
    header: &Value,
    claims: &Map<String, Value>,
    expected: &Expected,
    findings: &mut Findings,
) -> Option<Vec<u8>> {
    let x5c = header["x5c"].as_array().cloned().unwrap_or_default();
    let read = |text: &Value| Certificate::from_x5c(text.as_str()?);
    let chain: Option<Vec<Certificate>> = x5c.iter().map(read).collect();
    let chain = chain.unwrap_or_default();
    findings.must("x5c", !chain.is_empty(), "not an array of certificates in standard base64");
    let leaf = chain.first()?;
    findings.must("x5c_self_signed", !leaf.is_issued_by(leaf), "the leaf");
    if let Some(anchor) = &expected.anchor {
        let outside = chain.iter().all(|one| one.der != *anchor);
        let leads_up = Certificate::read(anchor)
            .is_some_and(|anchor| check_path(&chain, &anchor, expected.now_ms));
        findings.must("x5c_anchor", outside, "the anchor is in the chain");
        findings.must("x5c_path", leads_up || !outside, "does not lead up to the anchor");
    }
    let fits = match expected.prefix {
        Prefix::X509Hash => client_id == Prefix::x509_hash(&leaf.der),
        _ => fits_dns_name(client_id, claims, leaf),
    };
    findings.must("client_id_prefix", fits, client_id);
    Some(leaf.point.clone())
}

/// The client is a dNSName of the certificate, and the answer goes to that host.
fn fits_dns_name(client_id: &str, claims: &Map<String, Value>, leaf: &Certificate) -> bool {
    let name = client_id.strip_prefix(Prefix::X509SanDns.text()).unwrap_or_default();
    let response_uri = claims.get("response_uri").and_then(Value::as_str).unwrap_or_default();
    let host = Url::parse(response_uri).ok();
    leaf.dns_names.iter().any(|own| own == name)
        && host.is_some_and(|uri| uri.host_str() == Some(name))
}

/// The key of the DID document that `kid` names.
fn did_point(
    client_id: &str,
    header: &Value,
    expected: &Expected,
    findings: &mut Findings,
) -> Option<Vec<u8>> {
    let did = client_id.strip_prefix(Prefix::DecentralizedIdentifier.text()).unwrap_or_default();
    findings.must("client_id_prefix", did.starts_with("did:"), client_id);
    let kid = header["kid"].as_str().unwrap_or_default();
    findings.must("kid_did_url", kid.starts_with(&format!("{did}#")), kid);
    let document = expected.did_document.as_ref()?;
    findings.must("did_document", document["id"] == did, &document["id"]);
    let methods = document["verificationMethod"].as_array()?;
    let method = methods.iter().find(|method| method["id"] == kid)?;
    point_of(&method["publicKeyJwk"])
}

fn verify(jwt: &str, point: &[u8]) -> Option<()> {
    let key = VerifyingKey::from_sec1_bytes(point).ok()?;
    let (signing_input, signature) = jwt.rsplit_once('.')?;
    let signature = Signature::from_slice(&from_base64url(signature)?).ok()?;
    key.verify(signing_input.as_bytes(), &signature).ok()
}
