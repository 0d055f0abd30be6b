//! A tenant's request, with every default resolved.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::codec::{base64url, origin};
use crate::crypto::Alg;
use crate::error::ConfigError;
use crate::ids::{AGE_DOC_TYPE, ClaimPath, CredentialFormat, DocType, IssuerId, NameSpace};
use crate::request::claim_filter::ClaimFilter;
use crate::request::expanded;
use crate::request::profile::Profile;
use crate::request::purpose::Purpose;
use crate::request::subject_path::SubjectPath;
use crate::request::transaction_data::TransactionData;
use crate::trust::UnknownRevocation;

/// A resolved request: all defaults are filled in, and the trust entries can serve it. A program
/// can read it but not change it, so that the checks still hold. It cannot be parsed from a text
/// either: only the snapshot of a [`Session`](crate::Session) contains it.
#[derive(Clone, Debug)]
pub struct PresentationRequest {
    /// The form of the request, which decides the shape of the claims.
    pub(crate) form: RequestForm,
    /// Time to live in milliseconds.
    pub(crate) ttl_ms: u64,
    /// The URI that the wallet sends the person to after the answer.
    pub(crate) redirect_uri: Option<String>,
    /// The URI for a person who wants to try again.
    pub(crate) retry_uri: Option<String>,
    /// The tenant's purpose, for a page.
    pub(crate) purpose: Option<Purpose>,
    /// At least one, at most [`crate::limits::MAX_CREDENTIALS`].
    pub(crate) credentials: Vec<CredentialRequest>,
    /// Ids of credentials that must be about the same person.
    pub(crate) same_subject_groups: Vec<Vec<String>>,
    /// The profiles, in the order of the offers; empty: the verifier's first.
    pub(crate) profiles: Vec<Profile>,
    /// Whether its body has a field that needs a profile other than `draft`, with any value.
    pub(crate) has_newer_fields: bool,
    /// The accepted combinations of credentials; empty: all of them are needed.
    pub(crate) credential_sets: Vec<CredentialSet>,
    /// Whether claims require the response code; `None`: the profile decides.
    pub(crate) same_device: Option<bool>,
    /// Whether a person may continue on a phone.
    pub(crate) handover: bool,
    /// The name of the registration certificate to send; `None`: the tenant's default.
    pub(crate) intended_use: Option<String>,
    /// Whether every query needs a different credential, and not only queries for the same claims.
    pub(crate) distinct_credentials: bool,
    /// The treatment of credentials whose status list cannot be fetched; `None`: their trust
    /// entries decide.
    pub(crate) on_unknown_revocation: Option<UnknownRevocation>,
    /// The transactions that the holder is asked to approve.
    pub(crate) transaction_data: Vec<TransactionData>,
    /// The pages that may pass the request to their browser; `None`: only links carry it.
    pub(crate) dc_api: Option<DcApiPages>,
    /// The use of presets, until the session is created.
    pub(crate) presets: Presets,
}

/// How a request uses presets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Presets {
    /// No credential has one.
    #[default]
    Unused,
    /// Some credentials have one, or the request also names its profiles.
    Used,
    /// Every credential is a European proof of age and no profile is named: the request is made in
    /// the form that the age app accepts.
    AgeApp,
}

/// The pages that ask through their browser (Digital Credentials API).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DcApiPages {
    /// Their origins as browsers write them, at least one, at most
    /// [`crate::limits::MAX_DC_API_ORIGINS`].
    pub(crate) origins: Vec<String>,
    /// Whether there is also a request for `org-iso-mdoc` (ISO/IEC TS 18013-7 Annex C), if the
    /// request has only mdocs of different types.
    pub(crate) iso_mdoc: bool,
    /// Whether the caller has the requests as soon as the session is created. A shell whose own
    /// page takes them later sets this to false, and notes the time with
    /// [`Session::followed`](crate::Session::followed).
    pub(crate) handed_over: bool,
}

impl DcApiPages {
    /// Pages of these origins, which have the requests as soon as the session is created, with
    /// `org-iso-mdoc` where possible.
    pub(crate) const fn new(origins: Vec<String>) -> Self {
        Self { origins, iso_mdoc: true, handed_over: true }
    }

    /// Returns the origin in `text` in the form of browsers and wallets, which compare origins as
    /// plain text (OpenID4VP A.2): https, or http on loopback; or `android:apk-key-hash:` and the
    /// hash of the certificate that signs an application. A shell stores this form, and requests
    /// must name exactly the same.
    ///
    /// # Errors
    /// The text is neither, or is more than an origin.
    pub fn origin(text: &str) -> Result<String, ConfigError> {
        origin::of_page(text).map_err(ConfigError::PageOrigin)
    }
}

/// A set of accepted combinations of credentials (OpenID4VP 6.2), with the tenant's ids.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CredentialSet {
    /// The options, each sufficient by itself: ids of credentials that belong together.
    pub(crate) options: Vec<Vec<String>>,
    /// Whether the answer must have one of the options.
    pub(crate) required: bool,
}

impl CredentialSet {
    /// A set of these options.
    pub const fn new(options: Vec<Vec<String>>, required: bool) -> Self {
        Self { options, required }
    }
}

impl PresentationRequest {
    /// The member of the tenant's body that has the credentials, for refusals.
    pub(crate) const fn path(&self) -> &'static str {
        match self.form {
            RequestForm::Legacy => "issuer_id",
            RequestForm::Custom => "credentials",
        }
    }

    /// The path of the issuer of the credential at `index`, in the tenant's body.
    pub(crate) fn path_of_issuer(&self, index: usize) -> String {
        match self.form {
            RequestForm::Legacy => "issuer_id".into(),
            RequestForm::Custom => format!("credentials[{index}].issuer_id"),
        }
    }

    /// The requested credentials, in the tenant's order.
    pub fn credentials(&self) -> &[CredentialRequest] {
        &self.credentials
    }

    /// The credentials as JSON text without presets, if the tenant used a preset.
    pub fn expanded_credentials(&self) -> Option<String> {
        (self.presets != Presets::Unused).then(|| expanded::credentials(&self.credentials))
    }

    /// Whether every credential is the European proof of age, by type, namespace and claims.
    pub(crate) fn asks_age_proofs_alone(&self) -> bool {
        let is_age = |asked: &CredentialRequest| {
            asked.doc_type.as_ref().is_some_and(|doc_type| doc_type.as_str() == AGE_DOC_TYPE)
                && asked.namespace.as_ref().is_some_and(|own| own.as_str() == AGE_DOC_TYPE)
                && asked.claims.iter().all(|claim| claim.starts_with("age_over_"))
        };
        !self.credentials.is_empty() && self.credentials.iter().all(is_age)
    }

    /// The URI that the wallet sends the person to after the answer.
    pub fn redirect_uri(&self) -> Option<&str> {
        self.redirect_uri.as_deref()
    }

    /// The URI for a person who wants to try again.
    pub fn retry_uri(&self) -> Option<&str> {
        self.retry_uri.as_deref()
    }

    /// The tenant's purpose, for a page in `language` (ISO 639-1): the language of the text, which
    /// is English if the tenant gave no text in `language`, and the text.
    pub fn purpose(&self, language: &str) -> Option<(&str, &str)> {
        self.purpose.as_ref()?.in_language(language)
    }

    /// The profiles that the tenant listed, in the order of the offers; empty: the verifier's first
    /// profile.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The tenant's name for the intended use; `None`: its default.
    pub fn intended_use(&self) -> Option<&str> {
        self.intended_use.as_deref()
    }

    /// Whether a person may continue on a phone after starting on a computer.
    pub fn handover(&self) -> bool {
        self.handover
    }

    /// Whether claims are released only to a browser that returns with the response code; `None`:
    /// the profile decides.
    pub fn same_device(&self) -> Option<bool> {
        self.same_device
    }

    /// The transactions that the holder is asked to approve.
    pub fn transaction_data(&self) -> &[TransactionData] {
        &self.transaction_data
    }

    /// The origins of the pages that may pass the request to their browser; empty: only links carry
    /// it.
    pub fn origins(&self) -> &[String] {
        self.dc_api.as_ref().map_or(&[], |pages| &pages.origins)
    }

    /// Allows a page of the shell's own at this address to pass the request to its browser. The
    /// page takes the requests later, and the shell notes the time with
    /// [`Session::followed`](crate::Session::followed).
    ///
    /// # Errors
    /// `page` has no origin that browsers and wallets can compare; the request is then unchanged.
    pub fn ask_on_own_page(&mut self, page: &str) -> Result<(), ConfigError> {
        let origins = Vec::from([DcApiPages::origin(page)?]);
        self.dc_api = Some(DcApiPages { handed_over: false, ..DcApiPages::new(origins) });
        Ok(())
    }

    /// Removes the request for browsers: only links carry it.
    pub fn ask_by_links_alone(&mut self) {
        self.dc_api = None;
    }

    /// The type of each requested credential, as in audit log and metrics: `vc+sd-jwt`, or
    /// `mso_mdoc:` and the document type.
    pub fn credential_types(&self) -> Vec<String> {
        self.credentials.iter().map(CredentialRequest::type_name).collect()
    }

    /// The id of the credential at `index` in a DCQL query: the tenant's own if it is valid there
    /// (OpenID4VP 6.1: letters, digits, `_` and `-`), otherwise `credential_<n>`, made unique.
    pub fn query_id(&self, index: usize) -> Cow<'_, str> {
        let own = self.credentials.get(index).map(|credential| credential.id.as_str());
        // A query id may have exactly the characters of base64url.
        if let Some(own) = own.filter(|id| base64url::is_alphabet(id)) {
            return Cow::Borrowed(own);
        }
        let mut id = format!("credential_{}", index.saturating_add(1));
        while self.credentials.iter().any(|credential| credential.id == id) {
            id.push('_');
        }
        Cow::Owned(id)
    }
}

/// The form of a session request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestForm {
    /// Only `issuer_id`: claims are returned as `{claim: value}`.
    Legacy,
    /// `credentials`: claims are returned as `{credential id: {claim: value}}`.
    Custom,
}

/// One requested credential.
#[derive(Clone, Debug)]
pub struct CredentialRequest {
    /// The tenant's id for this credential, unique in the request.
    pub(crate) id: String,
    /// The requested format.
    pub(crate) format: CredentialFormat,
    /// The trust entry that must have issued it.
    pub(crate) issuer_id: IssuerId,
    /// Requested claim names, without repetition.
    pub(crate) claims: Vec<String>,
    /// Restricts the issuer's algorithm.
    pub(crate) alg: Option<Alg>,
    /// mdoc only: the namespace of the claims.
    pub(crate) namespace: Option<NameSpace>,
    /// mdoc only: the document type.
    pub(crate) doc_type: Option<DocType>,
    /// The claims that must be equal within a same-subject group; empty outside groups.
    pub(crate) subject_claim_paths: Vec<SubjectPath>,
    /// Conditions on requested claims, by claim name.
    pub(crate) claim_filters: Vec<(String, ClaimFilter)>,
    /// SD-JWT only: the types that the trust entry accepted when the session was created.
    pub(crate) vct: Vec<String>,
    /// SD-JWT only: the paths of requested claims that are not top-level members of the payload
    /// under their name.
    pub(crate) claim_paths: Vec<(String, ClaimPath)>,
    /// Key identifiers of the issuer's roots for the wallet's choice, in base64url (OpenID4VP
    /// 6.1.1.1), as of the creation of the session; empty: no restriction.
    pub(crate) aki: Vec<String>,
    /// URLs of trusted lists for the wallet's choice (OpenID4VP 6.1.1.2), as of the creation of the
    /// session; empty: no restriction.
    pub(crate) etsi_tl: Vec<String>,
}

impl CredentialRequest {
    /// The tenant's id for this credential, unique in the request.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The requested format.
    pub fn format(&self) -> CredentialFormat {
        self.format
    }

    /// The trust entry that must have issued it.
    pub fn issuer_id(&self) -> &IssuerId {
        &self.issuer_id
    }

    /// The names of the requested claims, each once.
    pub fn claims(&self) -> &[String] {
        &self.claims
    }

    /// The types of an SD-JWT VC that the trust entry accepted when the session was created.
    pub fn vct(&self) -> &[String] {
        &self.vct
    }

    /// The path of a requested claim, if the request names one.
    pub fn path_for(&self, claim: &str) -> Option<&ClaimPath> {
        self.claim_paths.iter().find(|(name, _)| name == claim).map(|(_, path)| path)
    }

    /// The document type of an mdoc.
    pub fn doc_type(&self) -> Option<&DocType> {
        self.doc_type.as_ref()
    }

    fn type_name(&self) -> String {
        match (self.format, &self.doc_type) {
            (CredentialFormat::Mdoc, Some(doc_type)) => format!("mso_mdoc:{}", doc_type.as_str()),
            (format, _) => format.name().into(),
        }
    }

    /// The path of a requested SD-JWT VC claim: the request's, otherwise the top-level member.
    pub(crate) fn path_of_claim(&self, claim: &str) -> Cow<'_, ClaimPath> {
        let of_root = || Cow::Owned(ClaimPath::of_claims([claim]));
        self.path_for(claim).map_or_else(of_root, Cow::Borrowed)
    }

    /// Whether it is for the same claims. If one credential answers two queries, issuer and type
    /// are the same, whatever names the queries use for them.
    pub(crate) fn asks_for_the_claims_of(&self, other: &Self) -> bool {
        let claims = |asked: &Self| -> BTreeSet<ClaimPath> {
            asked.claims.iter().map(|claim| asked.path_of_claim(claim).into_owned()).collect()
        };
        self.namespace == other.namespace && claims(self) == claims(other)
    }

    /// The path of a value that is compared within a group; for a requested claim it is the claim's
    /// path.
    pub(crate) fn path_of_subject(&self, path: &SubjectPath) -> Cow<'_, ClaimPath> {
        match path.segments() {
            [claim] => self.path_of_claim(claim),
            names => Cow::Owned(ClaimPath::of_claims(names.iter().map(String::as_str))),
        }
    }

    /// The id in the presentation definition: wallets identify an mdoc by its document type.
    pub(crate) fn descriptor_id(&self) -> &str {
        match (self.format, &self.doc_type) {
            (CredentialFormat::Mdoc, Some(doc_type)) => doc_type.as_str(),
            _ => &self.id,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures;

    fn query_ids(ids: &[&str]) -> Vec<String> {
        let mut request = fixtures::one_credential();
        let one = request.credentials.remove(0);
        let named = |id: &&str| CredentialRequest { id: String::from(*id), ..one.clone() };
        request.credentials = ids.iter().map(named).collect();
        (0..ids.len()).map(|index| request.query_id(index).into_owned()).collect()
    }

    #[test]
    fn a_query_id_is_the_tenants_if_it_is_valid_there() {
        let good = ["pid", "A-z_0", "credential_1", "-"];
        assert_eq!(query_ids(&good), good);
    }

    #[test]
    fn other_ids_are_numbered_and_never_equal_a_tenants() {
        let ids = ["p d", "é", "", "a.b", "a/b"];
        let expected = [1, 2, 3, 4, 5].map(|n| format!("credential_{n}"));
        assert_eq!(query_ids(&ids), expected);
        assert_eq!(
            query_ids(&["a b", "credential_1", "credential_1_", "c d"]),
            ["credential_1__", "credential_1", "credential_1_", "credential_4"]
        );
    }
}
