//! One credential of a [`Request`](super::Request), as a tenant writes it.

use alloc::string::String;

use serde::Serialize;

use crate::codec::json::json_text;
use crate::crypto::Alg;
use crate::ids::CredentialFormat;
use crate::request::object::Object;

/// A requested credential: the JSON of `CredentialRequest` in the API description.
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
#[must_use = "add it to a Request"]
pub struct Credential(Object);

impl Credential {
    /// Asks for an SD-JWT VC of a trusted issuer. Its claims are returned under `id`.
    pub fn sd_jwt_vc(id: &str, issuer: &str) -> Self {
        Self::of(id, CredentialFormat::SdJwtVc, issuer)
    }

    /// Asks for an mdoc with this document type. Its claims are returned under `id`.
    pub fn mdoc(id: &str, issuer: &str, doc_type: &str) -> Self {
        Self::of(id, CredentialFormat::Mdoc, issuer).with("doc_type", doc_type)
    }

    /// Asks for the European proof that the holder is `age` years old or older, 1 to 99. It has its
    /// own document type and claim. If a request has only these and names no profile, it is made in
    /// the form that the European age app accepts.
    pub fn eu_age(id: &str, issuer: &str, age: u8) -> Self {
        let preset = Self(Object::default()).with("preset", "eu_age").with("id", id);
        preset.with("issuer_id", issuer).with("age", &age)
    }

    /// Adds claims to those already requested.
    pub fn claims<'i>(mut self, names: impl IntoIterator<Item = &'i str>) -> Self {
        self.0.extend("claims", names.into_iter().map(json_text));
        self
    }

    /// Adds the claim at `path`, with a name for the result. The path has a name for each member
    /// and `None` for all elements of an array (OpenID4VP 7): `["address", "locality"]`, or
    /// `[Some("nationalities"), None]`. For SD-JWT VCs, in profiles other than `draft`.
    pub fn claim_at(self, name: &str, path: impl Serialize) -> Self {
        let mut asked = self.claims([name]);
        asked.0.put("claim_paths", name, &path);
        asked
    }

    /// Adds a condition that a claim must meet: a JSON Schema with the keywords that the API
    /// description lists. A claim may have one condition; a second one makes the request invalid.
    pub fn filter(mut self, name: &str, schema: impl Serialize) -> Self {
        self.0.put("claim_filters", name, &schema);
        self
    }

    /// Accepts the credential only if the issuer signed it with this algorithm.
    pub fn alg(self, alg: Alg) -> Self {
        self.with("alg", &alg)
    }

    /// Sets the namespace of an mdoc's claims, if it does not follow from the document type.
    pub fn namespace(self, namespace: &str) -> Self {
        self.with("namespace", namespace)
    }

    /// Sets the claims that are compared within a group of
    /// [`Request::same_subject`](super::Request::same_subject), with dots between names:
    /// `address.country`.
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
