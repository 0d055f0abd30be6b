//! One credential of a [`Request`](super::Request) as a tenant writes it.

use alloc::string::String;

use serde::Serialize;

use crate::codec::json::json_text;
use crate::crypto::Alg;
use crate::ids::CredentialFormat;
use crate::request::object::Object;

/// A credential to ask for: the JSON of `CredentialRequest` in the interface description.
///
/// ```
/// use idgate_core::{Credential, Request};
///
/// let adult = Credential::mdoc("mdl", "https://dmv.example", "org.iso.18013.5.1.mDL")
///     .claims(["age_over_18"])
///     .filter("age_over_18", serde_json::json!({ "const": true }));
/// assert!(Request::of([adult]).check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use = "a credential is asked for in a Request"]
pub struct Credential(Object);

impl Credential {
    /// An SD-JWT VC of that trusted issuer. Claims come back under `id`.
    pub fn sd_jwt_vc(id: &str, issuer: &str) -> Self {
        Self::of(id, CredentialFormat::SdJwtVc, issuer)
    }

    /// An mdoc of that document type.
    pub fn mdoc(id: &str, issuer: &str, doc_type: &str) -> Self {
        Self::of(id, CredentialFormat::Mdoc, issuer).with("doc_type", doc_type)
    }

    /// The European proof that the holder is `age` years old or older, 1 to 99. It has its own document type
    /// and claim. A request of these alone that names no profile is made as the European age app takes it.
    pub fn eu_age(id: &str, issuer: &str, age: u8) -> Self {
        let preset = Self(Object::default()).with("preset", "eu_age").with("id", id);
        preset.with("issuer_id", issuer).with("age", &age)
    }

    /// Asks for these claims, in addition to those that were named before.
    pub fn claims<'i>(mut self, names: impl IntoIterator<Item = &'i str>) -> Self {
        self.0.extend("claims", names.into_iter().map(json_text));
        self
    }

    /// Asks for the claim at `path`, under a name for the result. The path has a name for each member and
    /// `None` for all elements of an array (OpenID4VP 7): `["address", "locality"]`, or
    /// `[Some("nationalities"), None]`. For an SD-JWT VC in other profiles than `draft`.
    pub fn claim_at(self, name: &str, path: impl Serialize) -> Self {
        let mut asked = self.claims([name]);
        asked.0.put("claim_paths", name, &path);
        asked
    }

    /// A condition that the claim must meet: a JSON Schema with the keywords that the interface description lists.
    /// A claim has one; a second one is refused with the request.
    pub fn filter(mut self, name: &str, schema: impl Serialize) -> Self {
        self.0.put("claim_filters", name, &schema);
        self
    }

    /// Takes it only if the issuer signed it with that algorithm.
    pub fn alg(self, alg: Alg) -> Self {
        self.with("alg", &alg)
    }

    /// The namespace of an mdoc's claims, where its document type does not say.
    pub fn namespace(self, namespace: &str) -> Self {
        self.with("namespace", namespace)
    }

    /// The claims that are compared within a group of [`Request::same_subject`](super::Request::same_subject),
    /// with dots between names: `address.country`.
    pub fn subject_paths<'i>(mut self, paths: impl IntoIterator<Item = &'i str>) -> Self {
        self.0.extend("subject_claim_paths", paths.into_iter().map(json_text));
        self
    }

    pub(super) fn text(&self) -> String {
        self.0.text()
    }

    fn of(id: &str, format: CredentialFormat, issuer: &str) -> Self {
        let mut asked = Object::default();
        asked.set("id", id);
        asked.set("format", format.name());
        asked.set("issuer_id", issuer);
        Self(asked)
    }

    fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.set(name, value);
        self
    }
}
