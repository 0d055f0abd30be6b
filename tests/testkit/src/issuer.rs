//! The sample issuer: SD-JWT VC from marked claims (RFC 9901 4, draft-ietf-oauth-sd-jwt-vc 2).

use serde_json::{Map, Value, json};

use crate::claim::{Claim, Element, Member};
use crate::codec::{HashAlg, base64url};
use crate::disclosure::{Disclosure, Segment};
use crate::jws;
use crate::keys::SigningKey;

/// Collects header and claims of a credential. The same input gives the same credential.
#[derive(Clone, Debug)]
pub struct CredentialBuilder {
    header: Map<String, Value>,
    claims: Vec<Member>,
    hash: Option<HashAlg>,
    decoys: usize,
    salt_seed: String,
}

/// A credential before it is signed. Every part can be changed.
#[derive(Clone, Debug)]
pub struct Unsigned {
    /// The JOSE header. `alg` and `kid` come from the key if absent.
    pub header: Map<String, Value>,
    /// The payload with its digests.
    pub payload: Map<String, Value>,
    /// The disclosures, outermost last.
    pub disclosures: Vec<Disclosure>,
    /// Signed instead of `header`.
    pub header_text: Option<String>,
    /// Signed instead of `payload`.
    pub payload_text: Option<String>,
}

/// A credential as the holder receives it.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The issuer-signed JWT.
    pub jwt: String,
    /// All disclosures.
    pub disclosures: Vec<Disclosure>,
}

impl CredentialBuilder {
    /// A credential with `typ` `dc+sd-jwt` and no claims.
    pub fn new() -> Self {
        let header = Map::from_iter([(String::from("typ"), Value::from("dc+sd-jwt"))]);
        Self { header, claims: Vec::new(), hash: None, decoys: 0, salt_seed: "salt".into() }
    }

    /// With a header parameter; replaces one of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header.insert(name.into(), value.into());
        self
    }

    /// With the certificates of the key that will sign it, leaf first, in `x5c`.
    #[must_use]
    pub fn x5c<C: AsRef<[u8]>>(self, chain: &[C]) -> Self {
        self.header("x5c", jws::x5c(chain))
    }

    /// With a claim that is always visible; replaces one of the same name.
    #[must_use]
    pub fn plain(self, name: &str, value: impl Into<Claim>) -> Self {
        self.claim(name, value.into(), false)
    }

    /// With a claim that the holder may withhold; replaces one of the same name.
    #[must_use]
    pub fn sd(self, name: &str, value: impl Into<Claim>) -> Self {
        self.claim(name, value.into(), true)
    }

    /// Without the claim of that name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.claims.retain(|member| member.name != name);
        self
    }

    /// Bound to the holder's key (RFC 7800 3.2).
    #[must_use]
    pub fn holder(self, key: &SigningKey) -> Self {
        self.plain("cnf", json!({ "jwk": key.public_jwk() }))
    }

    /// Sets `_sd_alg`. A payload without it uses sha-256.
    #[must_use]
    pub fn hash(mut self, hash: HashAlg) -> Self {
        self.hash = Some(hash);
        self
    }

    /// With that many decoy digests wherever there are real ones (RFC 9901 4.2.5).
    #[must_use]
    pub fn decoys(mut self, count: usize) -> Self {
        self.decoys = count;
        self
    }

    /// Derives salts and decoys from this text, so another text gives other digests.
    #[must_use]
    pub fn salt_seed(mut self, seed: impl Into<String>) -> Self {
        self.salt_seed = seed.into();
        self
    }

    /// Makes the disclosures and puts their digests in place.
    pub fn build(self) -> Unsigned {
        let mut sealer = Sealer {
            hash: self.hash.unwrap_or_default(),
            decoys: self.decoys,
            seed: self.salt_seed,
            count: 0,
            disclosures: Vec::new(),
        };
        let mut payload = sealer.object(self.claims, &[]);
        if let Some(hash) = self.hash {
            payload.insert("_sd_alg".into(), hash.name().into());
        }
        Unsigned {
            header: self.header,
            payload,
            disclosures: sealer.disclosures,
            header_text: None,
            payload_text: None,
        }
    }

    /// Builds and signs.
    pub fn issue(self, key: &SigningKey) -> Issued {
        self.build().sign(key)
    }

    fn claim(mut self, name: &str, value: Claim, selective: bool) -> Self {
        self = self.without(name);
        self.claims.push(Member { name: name.into(), value, selective });
        self
    }
}

impl Default for CredentialBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl Unsigned {
    /// The hash of its digests.
    pub fn hash(&self) -> HashAlg {
        hash_of(self.payload.get("_sd_alg"))
    }

    /// Replaces the disclosure of the root claim `name`, and its digest in the payload, by those of
    /// `json_text`: the issuer signs a disclosure of any form. No effect without such a
    /// disclosure.
    pub fn replace_disclosure(&mut self, name: &str, json_text: &str) {
        let hash = self.hash();
        let at_root = [Segment::Name(name.into())];
        let Some(disclosure) = self.disclosures.iter_mut().find(|d| d.path == at_root) else {
            return;
        };
        let old = disclosure.digest(hash);
        disclosure.text = Disclosure::of_text(json_text).text;
        let new = disclosure.digest(hash);
        self.edit_sd(|sd| {
            sd.iter_mut().filter(|d| **d == old).for_each(|d| *d = new.clone().into())
        });
    }

    /// Adds a disclosure of `json_text`, with its digest in the `_sd` of the root.
    pub fn add_disclosure(&mut self, json_text: &str) {
        let disclosure = Disclosure::of_text(json_text);
        let digest = disclosure.digest(self.hash());
        self.edit_sd(|sd| sd.push(digest.into()));
        self.disclosures.push(disclosure);
    }

    /// Changes the `_sd` of the root, which is created if absent. No effect if it is not an array.
    pub fn edit_sd(&mut self, edit: impl FnOnce(&mut Vec<Value>)) {
        if let Value::Array(digests) = self.payload.entry("_sd").or_insert_with(|| json!([])) {
            edit(digests);
        }
    }

    /// Signs with `key`.
    pub fn sign(&self, key: &SigningKey) -> Issued {
        let mut header = self.header.clone();
        header.entry("alg").or_insert_with(|| key.alg().into());
        if let Some(kid) = key.kid() {
            header.entry("kid").or_insert_with(|| kid.into());
        }
        let header = self.header_text.clone().unwrap_or_else(|| Value::from(header).to_string());
        let payload = self
            .payload_text
            .clone()
            .unwrap_or_else(|| Value::from(self.payload.clone()).to_string());
        Issued { jwt: jws::sign_jws(key, &header, &payload), disclosures: self.disclosures.clone() }
    }
}

impl Issued {
    /// The payload as signed. Null if it is not JSON.
    pub fn payload(&self) -> Value {
        jws::payload(&self.jwt).unwrap_or_default()
    }

    /// The hash of its digests.
    pub fn hash(&self) -> HashAlg {
        hash_of(self.payload().get("_sd_alg"))
    }

    /// Whether the claim `name` is at the root, visible or disclosable.
    pub fn has_claim(&self, name: &str) -> bool {
        self.payload().get(name).is_some()
            || self.disclosures.iter().any(|d| d.root_claim() == Some(name))
    }
}

/// Replaces values in the payload by their digests.
struct Sealer {
    hash: HashAlg,
    decoys: usize,
    seed: String,
    count: u64,
    disclosures: Vec<Disclosure>,
}

impl Sealer {
    fn claim(&mut self, claim: Claim, path: &[Segment]) -> Value {
        match claim {
            Claim::Value(value) => value,
            Claim::Object(members) => self.object(members, path).into(),
            Claim::Array(elements) => self.array(elements, path),
        }
    }

    fn object(&mut self, members: Vec<Member>, path: &[Segment]) -> Map<String, Value> {
        let mut object = Map::new();
        let mut digests = Vec::new();
        for member in members {
            let path = [path, &[Segment::Name(member.name.clone())]].concat();
            let value = self.claim(member.value, &path);
            if member.selective {
                let salt = self.salt();
                digests.push(self.disclose(Disclosure::of_member(
                    path,
                    &salt,
                    &member.name,
                    value,
                )));
            } else {
                object.insert(member.name, value);
            }
        }
        if !digests.is_empty() {
            digests.extend((0..self.decoys).map(|_| self.decoy()));
            // Sorted, so that the order reveals nothing about the claims.
            digests.sort_unstable();
            object.insert("_sd".into(), digests.into());
        }
        object
    }

    fn array(&mut self, elements: Vec<Element>, path: &[Segment]) -> Value {
        let selective = elements.iter().any(|element| element.selective);
        let mut array = Vec::new();
        for (index, element) in elements.into_iter().enumerate() {
            let path = [path, &[Segment::Index(index)]].concat();
            let value = self.claim(element.value, &path);
            array.push(if element.selective {
                let salt = self.salt();
                json!({ "...": self.disclose(Disclosure::of_element(path, &salt, value)) })
            } else {
                value
            });
        }
        if selective {
            array.extend((0..self.decoys).map(|_| json!({ "...": self.decoy() })));
        }
        array.into()
    }

    fn disclose(&mut self, disclosure: Disclosure) -> String {
        let digest = disclosure.digest(self.hash);
        self.disclosures.push(disclosure);
        digest
    }

    fn salt(&mut self) -> String {
        let bytes = HashAlg::Sha256.hash(self.next().as_bytes());
        base64url(bytes.get(..16).unwrap_or(&bytes))
    }

    fn decoy(&mut self) -> String {
        let text = self.next();
        self.hash.digest(&text)
    }

    fn next(&mut self) -> String {
        self.count += 1;
        format!("{} {}", self.seed, self.count)
    }
}

fn hash_of(sd_alg: Option<&Value>) -> HashAlg {
    sd_alg.and_then(Value::as_str).and_then(HashAlg::from_name).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::keys::Curve;

    fn key() -> SigningKey {
        SigningKey::from_seed(Curve::P256, "issuer").with_kid("issuer-1")
    }

    #[test]
    fn a_selective_member_leaves_only_its_digest() {
        let issued = CredentialBuilder::new().sd("given_name", "Erika").issue(&key());
        let [disclosure] = issued.disclosures.as_slice() else { panic!("one disclosure") };
        let payload = issued.payload();
        assert_eq!(payload["_sd"], json!([HashAlg::Sha256.digest(&disclosure.text)]));
        assert_eq!(payload.get("given_name"), None);
        let array = disclosure.json().unwrap();
        assert_eq!((&array[1], &array[2]), (&json!("given_name"), &json!("Erika")));
    }

    #[test]
    fn recursive_disclosures_nest_their_digests() {
        let address = Claim::object().sd("country", "DE").plain("locality", "Köln");
        let issued = CredentialBuilder::new().sd("address", address).issue(&key());
        let [country, address] = issued.disclosures.as_slice() else { panic!("two disclosures") };
        let value = &address.json().unwrap()[2];
        assert_eq!(value, &json!({"locality": "Köln", "_sd": [country.digest(HashAlg::Sha256)]}));
        assert_eq!(country.root_claim(), Some("address"));
        assert_eq!(issued.payload()["_sd"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn array_elements_and_decoys_become_dotted_objects() {
        let nationalities = Claim::array().sd_element("DE").plain_element("FR");
        let issued =
            CredentialBuilder::new().plain("nationalities", nationalities).decoys(2).issue(&key());
        let payload = issued.payload();
        let array = payload["nationalities"].as_array().unwrap();
        assert_eq!(array.len(), 4);
        assert_eq!(array[0], json!({"...": issued.disclosures[0].digest(HashAlg::Sha256)}));
        assert_eq!(array[1], "FR");
        assert_eq!(issued.disclosures.len(), 1);
    }

    #[test]
    fn the_header_names_key_and_algorithm_and_can_be_overridden() {
        let issued = CredentialBuilder::new().header("x", 1).issue(&key());
        let expected = json!({"alg": "ES256", "kid": "issuer-1", "typ": "dc+sd-jwt", "x": 1});
        assert_eq!(jws::header(&issued.jwt), Some(expected));
        let mut unsigned = CredentialBuilder::new().build();
        unsigned.header_text = Some("no JSON".into());
        assert_eq!(jws::header(&unsigned.sign(&key()).jwt), None);
    }

    #[test]
    fn digests_use_the_hash_that_sd_alg_names() {
        let issued = CredentialBuilder::new().sd("a", 1).hash(HashAlg::Sha512).issue(&key());
        assert_eq!(issued.hash(), HashAlg::Sha512);
        assert_eq!(issued.payload()["_sd"][0], issued.disclosures[0].digest(HashAlg::Sha512));
    }

    #[test]
    fn replaced_and_added_disclosures_have_digests() {
        let mut unsigned = CredentialBuilder::new().sd("a", 1).build();
        unsigned.replace_disclosure("a", r#"["salt","_sd",1]"#);
        unsigned.add_disclosure("[]");
        let digests: Vec<Value> =
            unsigned.disclosures.iter().map(|d| d.digest(HashAlg::Sha256).into()).collect();
        assert_eq!(unsigned.payload["_sd"], Value::from(digests));
        assert_eq!(unsigned.disclosures[0].json(), Some(json!(["salt", "_sd", 1])));
    }
}
