//! The stored form of a resolved request. It has its own types, so that no program can parse a
//! request from a text: only a session's snapshot contains one.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::crypto::Alg;
use crate::ids::{ClaimPath, CredentialFormat, DocType, IssuerId, NameSpace};
use crate::request::claim_filter::ClaimFilter;
use crate::request::presentation_request::{
    CredentialRequest, CredentialSet, DcApiPages, PresentationRequest, Presets, RequestForm,
};
use crate::request::profile::Profile;
use crate::request::purpose::Purpose;
use crate::request::subject_path::SubjectPath;
use crate::request::transaction_data::TransactionData;
use crate::trust::UnknownRevocation;

/// A request as a member of a snapshot.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct StoredRequest<'r>(
    #[serde(serialize_with = "Request::serialize", deserialize_with = "owned")]
    Cow<'r, PresentationRequest>,
);

impl<'r> StoredRequest<'r> {
    pub(crate) const fn of(request: &'r PresentationRequest) -> Self {
        Self(Cow::Borrowed(request))
    }

    pub(crate) fn into_request(self) -> PresentationRequest {
        self.0.into_owned()
    }
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "PresentationRequest")]
struct Request {
    form: RequestForm,
    ttl_ms: u64,
    redirect_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purpose: Option<Purpose>,
    #[serde(with = "credentials")]
    credentials: Vec<CredentialRequest>,
    same_subject_groups: Vec<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<Profile>,
    #[serde(default, skip_serializing_if = "is_no")]
    has_newer_fields: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "sets")]
    credential_sets: Vec<CredentialSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    same_device: Option<bool>,
    #[serde(default, skip_serializing_if = "is_no")]
    handover: bool,
    #[serde(default, skip_serializing_if = "is_no")]
    distinct_credentials: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_unknown_revocation: Option<UnknownRevocation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transaction_data: Vec<TransactionData>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "pages")]
    dc_api: Option<DcApiPages>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intended_use: Option<String>,
    #[serde(skip)]
    presets: Presets,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "CredentialRequest")]
struct Credential {
    id: String,
    format: CredentialFormat,
    issuer_id: IssuerId,
    claims: Vec<String>,
    alg: Option<Alg>,
    namespace: Option<NameSpace>,
    doc_type: Option<DocType>,
    subject_claim_paths: Vec<SubjectPath>,
    claim_filters: Vec<(String, ClaimFilter)>,
    vct: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claim_paths: Vec<(String, ClaimPath)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aki: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    etsi_tl: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "CredentialSet")]
struct Set {
    options: Vec<Vec<String>>,
    required: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "DcApiPages")]
struct Pages {
    origins: Vec<String>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    iso_mdoc: bool,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    handed_over: bool,
}

fn owned<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Cow<'static, PresentationRequest>, D::Error> {
    Request::deserialize(deserializer).map(Cow::Owned)
}

/// serde cannot derive a list of a type with a remote definition.
macro_rules! list {
    ($module:ident of $one:ty as $described:literal) => {
        mod $module {
            use super::*;

            #[derive(Serialize)]
            #[serde(transparent)]
            struct Borrowed<'r>(#[serde(with = $described)] &'r $one);

            #[derive(Deserialize)]
            #[serde(transparent)]
            struct Owned(#[serde(with = $described)] $one);

            pub(super) fn serialize<S: Serializer>(
                list: &[$one],
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(list.iter().map(Borrowed))
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Vec<$one>, D::Error> {
                let list = Vec::<Owned>::deserialize(deserializer)?;
                Ok(list.into_iter().map(|Owned(one)| one).collect())
            }
        }
    };
}

list!(credentials of CredentialRequest as "Credential");
list!(sets of CredentialSet as "Set");

/// The same for an optional member, which is skipped if absent.
mod pages {
    use super::*;

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Owned(#[serde(with = "Pages")] DcApiPages);

    pub(super) fn serialize<S: Serializer>(
        pages: &Option<DcApiPages>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match pages {
            Some(pages) => Pages::serialize(pages, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DcApiPages>, D::Error> {
        let pages = Option::<Owned>::deserialize(deserializer)?;
        Ok(pages.map(|Owned(pages)| pages))
    }
}

const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes references
const fn is_yes(value: &bool) -> bool {
    *value
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes references
const fn is_no(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures;

    fn text(request: &PresentationRequest) -> String {
        serde_json::to_string(&StoredRequest::of(request)).unwrap()
    }

    fn read(text: &str) -> PresentationRequest {
        serde_json::from_str::<StoredRequest<'_>>(text).unwrap().into_request()
    }

    #[test]
    fn a_request_without_the_newer_fields_is_stored_without_them() {
        let stored = text(&fixtures::two_credentials());
        for name in [
            "profiles",
            "credential_sets",
            "same_device",
            "distinct_credentials",
            "on_unknown_revocation",
            "transaction_data",
            "dc_api",
            "claim_paths",
            "aki",
            "etsi_tl",
            "retry_uri",
            "purpose",
            "handover",
            "intended_use",
        ] {
            assert!(!stored.contains(&format!("\"{name}\":")), "{name}");
        }
        assert_eq!(text(&read(&stored)), stored);
    }

    #[test]
    fn a_request_with_every_field_is_stored_in_the_order_of_earlier_programs() {
        let mut request = fixtures::one_credential();
        request.profiles = vec![Profile::V1_0];
        request.has_newer_fields = true;
        request.credential_sets =
            vec![CredentialSet::new(vec![vec!["credential_1".into()]], false)];
        request.same_device = Some(false);
        request.handover = true;
        request.intended_use = Some("age".into());
        request.retry_uri = Some("https://a.example/again".into());
        request.purpose = Some(serde_json::from_str(r#"[["en","To open an account"]]"#).unwrap());
        request.distinct_credentials = true;
        request.on_unknown_revocation = Some(UnknownRevocation::Accept);
        request.dc_api =
            Some(DcApiPages { iso_mdoc: false, handed_over: false, origins: vec!["a".into()] });
        for credential in &mut request.credentials {
            credential.claim_paths = vec![("given_name".into(), ClaimPath::of_claims(["a", "b"]))];
            (credential.aki, credential.etsi_tl) = (vec!["k".into()], vec!["t".into()]);
        }
        let stored = text(&request);
        assert_eq!(
            stored,
            concat!(
                r#"{"form":"custom","ttl_ms":300000,"redirect_uri":null,"#,
                r#""retry_uri":"https://a.example/again","#,
                r#""purpose":[["en","To open an account"]],"credentials":[{"#,
                r#""id":"credential_1","format":"vc+sd-jwt","issuer_id":"https://one.example","#,
                r#""claims":["given_name"],"alg":null,"namespace":null,"doc_type":null,"#,
                r#""subject_claim_paths":[],"claim_filters":[],"vct":["urn:one"],"#,
                r#""claim_paths":[["given_name",["a","b"]]],"aki":["k"],"etsi_tl":["t"]}],"#,
                r#""same_subject_groups":[],"profiles":["1.0"],"has_newer_fields":true,"#,
                r#""credential_sets":[{"options":[["credential_1"]],"required":false}],"#,
                r#""same_device":false,"handover":true,"distinct_credentials":true,"#,
                r#""on_unknown_revocation":"accept","#,
                r#""dc_api":{"origins":["a"],"iso_mdoc":false,"handed_over":false},"#,
                r#""intended_use":"age"}"#,
            )
        );
        assert_eq!(text(&read(&stored)), stored);
    }
}
