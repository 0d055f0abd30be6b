//! The sample wallet's side of OpenID4VCI 1.0: proofs, DPoP proofs and attestations, which can be changed before they
//! are signed, and readers of credential responses.

use serde_json::{Map, Value, json};

use crate::codec::{HashAlg, base64url, from_base64url};
use crate::disclosure::{Disclosure, Segment};
use crate::issuer::Issued;
use crate::jws;
use crate::keys::{Curve, SigningKey};
use crate::mdoc::{Cbor, Document, IssuerSigned, Item};
use crate::time::numeric_date;

/// A JWT of a wallet before it is signed.
#[derive(Clone, Debug)]
pub struct WalletJwt {
    /// The JOSE header.
    pub header: Map<String, Value>,
    /// The claims.
    pub claims: Map<String, Value>,
}

impl WalletJwt {
    fn new(header: Value, claims: Value) -> Self {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        Self { header: object(header), claims: object(claims) }
    }

    /// A proof of the possession of `key` for this issuer (OpenID4VCI F.1).
    pub fn proof(key: &SigningKey, issuer: &str, nonce: &str, now_ms: u64) -> Self {
        Self::new(
            json!({ "typ": "openid4vci-proof+jwt", "alg": key.alg(), "jwk": key.public_jwk() }),
            json!({ "aud": issuer, "iat": numeric_date(now_ms), "nonce": nonce }),
        )
    }

    /// A DPoP proof for a POST to `url` (RFC 9449 4.2), with `token` for that access token.
    pub fn dpop(key: &SigningKey, url: &str, jti: &str, token: Option<&str>, now_ms: u64) -> Self {
        let mut jwt = Self::new(
            json!({ "typ": "dpop+jwt", "alg": key.alg(), "jwk": key.public_jwk() }),
            json!({ "htm": "POST", "htu": url, "jti": jti, "iat": numeric_date(now_ms) }),
        );
        if let Some(token) = token {
            jwt.claims.insert("ath".into(), HashAlg::Sha256.digest(token).into());
        }
        jwt
    }

    /// A client attestation for the instance with `key`, signed by the wallet provider with `provider`.
    pub fn client_attestation(provider: &SigningKey, key: &SigningKey, now_ms: u64) -> Self {
        let iat = numeric_date(now_ms);
        Self::new(
            json!({
                "typ": "oauth-client-attestation+jwt",
                "alg": provider.alg(),
                "jwk": provider.public_jwk(),
            }),
            json!({
                "iss": "https://provider.example",
                "sub": "https://wallet.example",
                "iat": iat,
                "exp": iat.saturating_add(3600),
                "cnf": { "jwk": key.public_jwk() },
            }),
        )
    }

    /// The proof of possession that goes with it.
    pub fn attestation_pop(issuer: &str, jti: &str, now_ms: u64) -> Self {
        Self::new(
            json!({ "typ": "oauth-client-attestation-pop+jwt", "alg": "ES256" }),
            json!({ "aud": issuer, "jti": jti, "iat": numeric_date(now_ms) }),
        )
    }

    /// An attestation of these keys (OpenID4VCI D.1).
    pub fn key_attestation(
        provider: &SigningKey,
        keys: &[SigningKey],
        nonce: Option<&str>,
        now_ms: u64,
    ) -> Self {
        let iat = numeric_date(now_ms);
        let attested: Vec<Value> = keys.iter().map(SigningKey::public_jwk).collect();
        let mut jwt = Self::new(
            json!({
                "typ": "key-attestation+jwt",
                "alg": provider.alg(),
                "jwk": provider.public_jwk(),
            }),
            json!({
                "iat": iat,
                "exp": iat.saturating_add(3600),
                "attested_keys": attested,
                "key_storage": ["iso_18045_high"],
            }),
        );
        if let Some(nonce) = nonce {
            jwt.claims.insert("nonce".into(), nonce.into());
        }
        jwt
    }

    /// With a header parameter; null removes it.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        set(&mut self.header, name, value.into());
        self
    }

    /// With a claim; null removes it.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        set(&mut self.claims, name, value.into());
        self
    }

    /// Signed by `key`.
    pub fn sign(&self, key: &SigningKey) -> String {
        let text = |members: &Map<String, Value>| Value::Object(members.clone()).to_string();
        jws::sign_jws(key, &text(&self.header), &text(&self.claims))
    }
}

fn set(members: &mut Map<String, Value>, name: &str, value: Value) {
    match value {
        Value::Null => drop(members.remove(name)),
        value => drop(members.insert(name.to_owned(), value)),
    }
}

/// A received SD-JWT VC. `None`: the text is not one.
pub fn received_sd_jwt(text: &str) -> Option<Issued> {
    let mut parts = text.split('~');
    let jwt = parts.next().filter(|jwt| jwt.split('.').count() == 3)?.to_owned();
    let texts: Vec<&str> = parts.filter(|text| !text.is_empty()).collect();
    let mut disclosures: Vec<Disclosure> = texts
        .into_iter()
        .map(|text| Disclosure { path: Vec::new(), text: text.to_owned() })
        .collect();
    let digests = |value: &Value| -> Vec<String> {
        let all = value.get("_sd").and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(String::from).collect()
    };
    // Disclosures at the root have a place, by which the wallet chooses.
    let at_root = digests(&jws::payload(&jwt)?);
    for one in &mut disclosures {
        if at_root.contains(&one.digest(HashAlg::Sha256)) {
            let name = one.json()?.get(1)?.as_str()?.to_owned();
            one.path = vec![Segment::Name(name)];
        }
    }
    Some(Issued { jwt, disclosures })
}

/// A received mdoc for a device with `device_key`. `None`: the text is not an `IssuerSigned`.
pub fn received_mdoc(text: &str, device_key: &SigningKey) -> Option<Document> {
    let signed = Cbor::decode(&from_base64url(text)?)?;
    let auth = signed.get("issuerAuth")?;
    let mso = Cbor::decode(auth.elements()?.get(2)?.bytes()?)?.embedded()?;
    let doc_type = mso.get("docType")?.text()?.to_owned();
    let mut items = Vec::new();
    for (name_space, own) in signed.get("nameSpaces")?.entries()? {
        for item in own.elements()? {
            let Cbor::Tag(24, bytes) = item else { return None };
            let encoded = bytes.bytes()?.to_vec();
            items.push(Item {
                name_space: name_space.text()?.to_owned(),
                map: Cbor::decode(&encoded)?,
                encoded: Some(encoded),
                chunked: false,
            });
        }
    }
    let nobody = SigningKey::from_seed(Curve::P256, "not the issuer");
    let mut issued = IssuerSigned::mdl(&[], &nobody, &[], device_key, 0);
    (issued.items, issued.mso, issued.received) = (items, mso, Some(auth.clone()));
    let mut document = Document::new(issued, device_key);
    document.doc_type = doc_type;
    Some(document)
}

/// Reads an offer's link: the offer by value, or its address.
pub fn read_offer_link(link: &str) -> Option<Result<Value, String>> {
    let (_, query) = link.split_once('?')?;
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let (name, value) = pairs.into_owned().next()?;
    match &*name {
        "credential_offer" => Some(Ok(serde_json::from_str(&value).ok()?)),
        "credential_offer_uri" => Some(Err(value)),
        _ => None,
    }
}

/// Whether a credential's device key, or `cnf`, is `key`.
pub fn is_bound_to(credential: &str, key: &SigningKey) -> bool {
    let jwk = key.public_jwk();
    if let Some(issued) = received_sd_jwt(credential) {
        let payload = issued.payload();
        let own = payload.get("cnf").and_then(|cnf| cnf.get("jwk"));
        return ["x", "y"].iter().all(|name| own.and_then(|own| own.get(name)) == jwk.get(name));
    }
    let document = received_mdoc(credential, key);
    let own = document.and_then(|mut document| {
        let info = document.issuer_signed.mso.at("deviceKeyInfo");
        let own = info.at("deviceKey").clone();
        Some((own.label(-2)?.bytes()?.to_vec(), own.label(-3)?.bytes()?.to_vec()))
    });
    let text = |name: &str| jwk.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    own.is_some_and(|(x, y)| base64url(&x) == text("x") && base64url(&y) == text("y"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::time::SAMPLE_NOW_MS;

    #[test]
    fn a_received_sd_jwt_is_the_issued_one() {
        let sample = samples::issue_sample(SAMPLE_NOW_MS);
        let disclosures = sample.credential.disclosures.iter().map(|one| format!("{}~", one.text));
        let text = format!("{}~{}", sample.credential.jwt, disclosures.collect::<String>());
        let received = received_sd_jwt(&text).unwrap();
        assert_eq!(received.jwt, sample.credential.jwt);
        assert!(received.disclosures.iter().any(|one| one.root_claim() == Some("given_name")));
        assert!(is_bound_to(&text, &sample.holder_key));
        assert!(!is_bound_to(&text, &sample.issuer_key));
    }

    #[test]
    fn a_received_mdoc_is_presented_with_the_issuers_own_signature() {
        let sample = samples::issue_mdl(SAMPLE_NOW_MS);
        let signed = sample.document.issuer_signed.sign();
        let text = base64url(&signed.encode());
        let received = received_mdoc(&text, &sample.document.device_key).unwrap();
        assert_eq!(received.issuer_signed.sign().encode(), signed.encode());
        assert_eq!(received.doc_type, sample.document.doc_type);
        assert!(is_bound_to(&text, &sample.document.device_key));
    }
}
