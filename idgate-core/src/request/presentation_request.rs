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

/// A request that a verifier resolved: every default is filled in, and trust serves it (specification
/// 2, decisions 4). A program reads it and cannot change it, so that
/// the checks still hold for it. It cannot be read out of a text either: a [`Session`](crate::Session) holds it in its
/// snapshot.
#[derive(Clone, Debug)]
pub struct PresentationRequest {
    /// Which of the two forms was used; it decides the shape of the claims.
    pub(crate) form: RequestForm,
    /// Time to live in milliseconds.
    pub(crate) ttl_ms: u64,
    /// Where the wallet sends the person afterwards.
    pub(crate) redirect_uri: Option<String>,
    /// Where a page leads a person who wants to try again.
    pub(crate) retry_uri: Option<String>,
    /// Why the tenant asks, for a page.
    pub(crate) purpose: Option<Purpose>,
    /// At least one, at most [`crate::limits::MAX_CREDENTIALS`].
    pub(crate) credentials: Vec<CredentialRequest>,
    /// Ids of credentials that must be about the same person.
    pub(crate) same_subject_groups: Vec<Vec<String>>,
    /// The profiles to ask in, in the order of the offers; empty: the verifier's first.
    pub(crate) profiles: Vec<Profile>,
    /// Whether its body has a field that needs another profile than `draft`, with any value.
    pub(crate) has_newer_fields: bool,
    /// Which combinations of credentials will do; empty: all of them are needed.
    pub(crate) credential_sets: Vec<CredentialSet>,
    /// Whether claims need the response code; `None`: the profile decides.
    pub(crate) same_device: Option<bool>,
    /// Whether a person may continue on a phone.
    pub(crate) handover: bool,
    /// The name of the registration certificate to send; `None`: the tenant's default.
    pub(crate) intended_use: Option<String>,
    /// Whether every query needs a credential of its own, and not only those for the same claims.
    pub(crate) distinct_credentials: bool,
    /// The treatment of credentials whose status list cannot be had; `None`: what their trust entries say.
    pub(crate) on_unknown_revocation: Option<UnknownRevocation>,
    /// What the holder is asked to agree to.
    pub(crate) transaction_data: Vec<TransactionData>,
    /// The pages that may pass the request to their browser; `None`: it goes by links alone.
    pub(crate) dc_api: Option<DcApiPages>,
    /// The use of presets, until its session is made.
    pub(crate) presets: Presets,
}

/// How presets were used in a request (decisions 41).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Presets {
    /// No credential has one.
    #[default]
    Unused,
    /// Some credentials have one, or the request names its profiles.
    Used,
    /// Every credential is a European proof of age and no profile is named: the request is made as the age app
    /// takes it.
    AgeApp,
}

/// The pages that ask through their browser (Digital Credentials API).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DcApiPages {
    /// Their origins as browsers write them, at least one, at most [`crate::limits::MAX_DC_API_ORIGINS`].
    pub(crate) origins: Vec<String>,
    /// Whether the request is also made for `org-iso-mdoc` (ISO/IEC TS 18013-7 Annex C), where it is for
    /// mdocs of different types alone.
    pub(crate) iso_mdoc: bool,
    /// Whether whoever asked has the requests as soon as the session is there. A shell whose own page takes
    /// them later says no, and notes that with [`Session::followed`](crate::Session::followed).
    pub(crate) handed_over: bool,
}

impl DcApiPages {
    /// Pages of these origins, which have the requests as soon as the session is there, with `org-iso-mdoc`
    /// where it fits.
    pub(crate) const fn new(origins: Vec<String>) -> Self {
        Self { origins, iso_mdoc: true, handed_over: true }
    }

    /// The origin that is meant by `text`, as browsers and wallets write it, who compare it as plain text
    /// (OpenID4VP A.2): https, or http on loopback; or `android:apk-key-hash:` and the hash of the
    /// certificate that signs an application. What a shell stores, so that requests can name it: those
    /// must have it exactly so.
    ///
    /// # Errors
    /// It is neither, or more than an origin.
    pub fn origin(text: &str) -> Result<String, ConfigError> {
        origin::of_page(text).map_err(ConfigError::PageOrigin)
    }
}

/// One of the combinations that a request accepts (OpenID4VP 6.2), by the tenant's ids.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CredentialSet {
    /// Each is enough by itself: ids of credentials that come together.
    pub(crate) options: Vec<Vec<String>>,
    /// Whether one of the options must come.
    pub(crate) required: bool,
}

impl CredentialSet {
    /// A set of these options.
    pub const fn new(options: Vec<Vec<String>>, required: bool) -> Self {
        Self { options, required }
    }
}

impl PresentationRequest {
    /// The member of the tenant's body that says what is asked for, as refusals name it.
    pub(crate) const fn path(&self) -> &'static str {
        match self.form {
            RequestForm::Legacy => "issuer_id",
            RequestForm::Custom => "credentials",
        }
    }

    /// Where the tenant's body names the issuer of the `index`-th credential.
    pub(crate) fn path_of_issuer(&self, index: usize) -> String {
        match self.form {
            RequestForm::Legacy => "issuer_id".into(),
            RequestForm::Custom => format!("credentials[{index}].issuer_id"),
        }
    }

    /// The credentials that are asked for, in the order of the tenant.
    pub fn credentials(&self) -> &[CredentialRequest] {
        &self.credentials
    }

    /// The credentials as the tenant could have written them, as JSON text, where it used a preset.
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

    /// Where the wallet sends the person afterwards.
    pub fn redirect_uri(&self) -> Option<&str> {
        self.redirect_uri.as_deref()
    }

    /// Where a page leads a person who wants to try again.
    pub fn retry_uri(&self) -> Option<&str> {
        self.retry_uri.as_deref()
    }

    /// Why the tenant asks, for a page in `language` (ISO 639-1): the language of the text, which is English where
    /// the tenant gave no other, and the text.
    pub fn purpose(&self, language: &str) -> Option<(&str, &str)> {
        self.purpose.as_ref()?.in_language(language)
    }

    /// The profiles that the tenant listed, in the order of the offers; none: the verifier's first.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The tenant's name for the intended use; `None`: its default.
    pub fn intended_use(&self) -> Option<&str> {
        self.intended_use.as_deref()
    }

    /// Whether a person may continue on a phone what began on a computer.
    pub fn handover(&self) -> bool {
        self.handover
    }

    /// Whether the tenant binds claims to the browser that comes back; `None`: the profile decides.
    pub fn same_device(&self) -> Option<bool> {
        self.same_device
    }

    /// Everything that the holder is asked to agree to.
    pub fn transaction_data(&self) -> &[TransactionData] {
        &self.transaction_data
    }

    /// The origins of the pages that may pass it to their browser; none: it goes by links alone.
    pub fn origins(&self) -> &[String] {
        self.dc_api.as_ref().map_or(&[], |pages| &pages.origins)
    }

    /// Lets a page of the shell's own at that address pass the request to its browser. The page takes
    /// the requests later, and the shell notes that with [`Session::followed`](crate::Session::followed).
    ///
    /// # Errors
    /// `page` has no origin that browsers and wallets compare; then nothing has changed.
    pub fn ask_on_own_page(&mut self, page: &str) -> Result<(), ConfigError> {
        let origins = Vec::from([DcApiPages::origin(page)?]);
        self.dc_api = Some(DcApiPages { handed_over: false, ..DcApiPages::new(origins) });
        Ok(())
    }

    /// Takes the request away from every page's browser: it goes by links alone.
    pub fn ask_by_links_alone(&mut self) {
        self.dc_api = None;
    }

    /// The type of each credential asked for, as audit log and metrics name it: `vc+sd-jwt`, or
    /// `mso_mdoc:` and the document type (decisions 9).
    pub fn credential_types(&self) -> Vec<String> {
        self.credentials.iter().map(CredentialRequest::type_name).collect()
    }

    /// The id of the `index`-th credential in a DCQL query: the tenant's own when it may stand there
    /// (OpenID4VP 6.1: letters, digits, `_` and `-`), else `credential_<n>`, made unique.
    pub fn query_id(&self, index: usize) -> Cow<'_, str> {
        let own = self.credentials.get(index).map(|credential| credential.id.as_str());
        // The characters of base64url are the ones that a query id may have.
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
    /// `issuer_id` alone: claims come back as `{claim: value}`.
    Legacy,
    /// `credentials`: claims come back as `{credential id: {claim: value}}`.
    Custom,
}

/// One requested credential.
#[derive(Clone, Debug)]
pub struct CredentialRequest {
    /// Unique in the request.
    pub(crate) id: String,
    /// The format asked for.
    pub(crate) format: CredentialFormat,
    /// The trust entry that must have issued it.
    pub(crate) issuer_id: IssuerId,
    /// Requested claim names, without repetition.
    pub(crate) claims: Vec<String>,
    /// Narrows the issuer's algorithm.
    pub(crate) alg: Option<Alg>,
    /// mdoc only: the namespace of the claims.
    pub(crate) namespace: Option<NameSpace>,
    /// mdoc only: the document type.
    pub(crate) doc_type: Option<DocType>,
    /// What must be equal within a same-subject group; empty outside groups.
    pub(crate) subject_claim_paths: Vec<SubjectPath>,
    /// Conditions on requested claims, by claim name.
    pub(crate) claim_filters: Vec<(String, ClaimFilter)>,
    /// SD-JWT only: the types that the trust entry accepted when the session was made.
    pub(crate) vct: Vec<String>,
    /// SD-JWT only: where requested claims stand that are not members of the payload by their name.
    pub(crate) claim_paths: Vec<(String, ClaimPath)>,
    /// Key identifiers of the issuer's roots for the wallet to choose by, in base64url
    /// (OpenID4VP 6.1.1.1), as they were when the session was made; empty: it may choose freely.
    pub(crate) aki: Vec<String>,
    /// URLs of trusted lists for the wallet to choose by (OpenID4VP 6.1.1.2), as they were when the
    /// session was made; empty: it may choose freely.
    pub(crate) etsi_tl: Vec<String>,
}

impl CredentialRequest {
    /// Unique in the request.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The format that is asked for.
    pub fn format(&self) -> CredentialFormat {
        self.format
    }

    /// The trust entry that must have issued it.
    pub fn issuer_id(&self) -> &IssuerId {
        &self.issuer_id
    }

    /// The names of the requested claims, none twice.
    pub fn claims(&self) -> &[String] {
        &self.claims
    }

    /// The types of an SD-JWT VC that the trust entry accepted when the session was made.
    pub fn vct(&self) -> &[String] {
        &self.vct
    }

    /// The path of a requested claim, where the request names one.
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

    /// Where a requested claim of an SD-JWT VC stands: where the request says, else at the root.
    pub(crate) fn path_of_claim(&self, claim: &str) -> Cow<'_, ClaimPath> {
        let of_root = || Cow::Owned(ClaimPath::of_claims([claim]));
        self.path_for(claim).map_or_else(of_root, Cow::Borrowed)
    }

    /// Whether it is for the same claims. Of two queries that one credential answers the issuer and the type are the
    /// same, whatever names of either they give.
    pub(crate) fn asks_for_the_claims_of(&self, other: &Self) -> bool {
        let claims = |asked: &Self| -> BTreeSet<ClaimPath> {
            asked.claims.iter().map(|claim| asked.path_of_claim(claim).into_owned()).collect()
        };
        self.namespace == other.namespace && claims(self) == claims(other)
    }

    /// Where a value stands that is compared within a group: a claim stands where it is asked for.
    pub(crate) fn path_of_subject(&self, path: &SubjectPath) -> Cow<'_, ClaimPath> {
        match path.segments() {
            [claim] => self.path_of_claim(claim),
            names => Cow::Owned(ClaimPath::of_claims(names.iter().map(String::as_str))),
        }
    }

    /// Its id in the presentation definition: wallets know an mdoc by its document type.
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
    fn a_query_id_is_the_tenants_where_it_may_stand_in_a_query() {
        let good = ["pid", "A-z_0", "credential_1", "-"];
        assert_eq!(query_ids(&good), good);
    }

    #[test]
    fn other_ids_are_numbered_and_never_meet_one_of_the_tenants() {
        let ids = ["p d", "é", "", "a.b", "a/b"];
        let expected = [1, 2, 3, 4, 5].map(|n| format!("credential_{n}"));
        assert_eq!(query_ids(&ids), expected);
        assert_eq!(
            query_ids(&["a b", "credential_1", "credential_1_", "c d"]),
            ["credential_1__", "credential_1", "credential_1_", "credential_4"]
        );
    }
}
