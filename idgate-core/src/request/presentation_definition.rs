//! Presentation Exchange 2: the credentials that the wallet is asked to present. The wallets in use
//! accept this shape: one format key, `limit_disclosure`, an mdoc descriptor named after its
//! document type.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::crypto::Alg;
use crate::ids::CredentialFormat;
use crate::request::presentation_request::{CredentialRequest, PresentationRequest};
use crate::request::subject_path::{SubjectPath, json_path};

/// `presentation_definition`.
#[derive(Serialize)]
pub(crate) struct PresentationDefinition<'r> {
    id: &'r str,
    input_descriptors: Vec<InputDescriptor<'r>>,
}

#[derive(Serialize)]
struct InputDescriptor<'r> {
    id: &'r str,
    format: Format,
    constraints: Constraints,
}

/// Accepted algorithms per format; also the value of `vp_formats`.
#[derive(Default, Serialize)]
pub(crate) struct Format {
    #[serde(rename = "vc+sd-jwt", skip_serializing_if = "Option::is_none")]
    sd_jwt_vc: Option<SdJwtAlgs>,
    #[serde(rename = "mso_mdoc", skip_serializing_if = "Option::is_none")]
    mdoc: Option<MdocAlgs>,
}

#[derive(Serialize)]
struct SdJwtAlgs {
    #[serde(rename = "sd-jwt_alg_values")]
    issuer: Vec<Alg>,
    #[serde(rename = "kb-jwt_alg_values")]
    holder: Vec<Alg>,
}

#[derive(Serialize)]
struct MdocAlgs {
    alg: Vec<Alg>,
}

#[derive(Serialize)]
struct Constraints {
    limit_disclosure: &'static str,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    path: [String; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent_to_retain: Option<bool>,
}

/// `$.vct` with one accepted type, or several.
#[derive(Serialize)]
struct TypeFilter<'r> {
    r#type: &'static str,
    #[serde(rename = "const", skip_serializing_if = "Option::is_none")]
    only: Option<&'r str>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    any_of: Option<&'r [String]>,
}

impl<'r> PresentationDefinition<'r> {
    pub(crate) fn new(id: &'r str, request: &'r PresentationRequest) -> Self {
        let input_descriptors = request.credentials.iter().map(InputDescriptor::new).collect();
        Self { id, input_descriptors }
    }
}

impl Format {
    /// The accepted algorithms for the formats of `request`.
    pub(crate) fn of_request(request: &PresentationRequest) -> Self {
        let asks = |format| request.credentials.iter().any(|asked| asked.format == format);
        Self {
            sd_jwt_vc: asks(CredentialFormat::SdJwtVc).then(|| SdJwtAlgs::new(None)),
            mdoc: asks(CredentialFormat::Mdoc).then(|| MdocAlgs::new(None)),
        }
    }

    fn of_credential(request: &CredentialRequest) -> Self {
        match request.format {
            CredentialFormat::SdJwtVc => {
                Self { sd_jwt_vc: Some(SdJwtAlgs::new(request.alg)), mdoc: None }
            }
            CredentialFormat::Mdoc => {
                Self { sd_jwt_vc: None, mdoc: Some(MdocAlgs::new(request.alg)) }
            }
        }
    }
}

impl SdJwtAlgs {
    /// `alg` restricts the issuer's algorithm, not the holder's.
    fn new(alg: Option<Alg>) -> Self {
        Self { issuer: accepted(alg), holder: accepted(None) }
    }
}

impl MdocAlgs {
    fn new(alg: Option<Alg>) -> Self {
        Self { alg: accepted(alg) }
    }
}

impl<'r> InputDescriptor<'r> {
    fn new(request: &'r CredentialRequest) -> Self {
        let fields = match request.format {
            CredentialFormat::SdJwtVc => sd_jwt_fields(request),
            CredentialFormat::Mdoc => mdoc_fields(request),
        };
        let constraints = Constraints { limit_disclosure: "required", fields };
        Self { id: request.descriptor_id(), format: Format::of_credential(request), constraints }
    }
}

impl Field {
    fn sd_jwt(path: String, filter: Option<Box<RawValue>>) -> Self {
        Self { path: [path], filter, intent_to_retain: None }
    }
}

fn accepted(alg: Option<Alg>) -> Vec<Alg> {
    alg.map_or_else(|| Alg::ALL.to_vec(), |only| vec![only])
}

/// The type, the claims, then the claims of a group that are not among them.
fn sd_jwt_fields(request: &CredentialRequest) -> Vec<Field> {
    let mut fields = Vec::with_capacity(request.claims.len() + 4);
    if let Some(filter) = type_filter(&request.vct) {
        fields.push(Field::sd_jwt(String::from("$.vct"), Some(filter)));
    }
    for claim in &request.claims {
        let path = request.path_of_claim(claim);
        // A filter on a list does not apply to its elements.
        let filter = wallet_filter(request, claim).filter(|_| !path.selects_several());
        push_unrepeated(&mut fields, json_path(&path), filter);
    }
    for path in &request.subject_claim_paths {
        push_unrepeated(&mut fields, json_path(&request.path_of_subject(path)), None);
    }
    fields
}

fn push_unrepeated(fields: &mut Vec<Field>, path: String, filter: Option<Box<RawValue>>) {
    if !fields.iter().any(|field| field.path == [path.as_str()]) {
        fields.push(Field::sd_jwt(path, filter));
    }
}

fn type_filter(vct: &[String]) -> Option<Box<RawValue>> {
    let (only, any_of) = match vct {
        [] => return None,
        [only] => (Some(only.as_str()), None),
        several => (None, Some(several)),
    };
    serde_json::value::to_raw_value(&TypeFilter { r#type: "string", only, any_of }).ok()
}

/// The tenant's text, so that no number is rounded.
fn wallet_filter(request: &CredentialRequest, claim: &str) -> Option<Box<RawValue>> {
    let (_, filter) = request.claim_filters.iter().find(|(name, _)| name == claim)?;
    RawValue::from_string(filter.for_wallet()?).ok()
}

/// Filters are never sent for an mdoc; wallets refuse a field without `intent_to_retain`.
fn mdoc_fields(request: &CredentialRequest) -> Vec<Field> {
    let namespace = request.namespace.as_ref().map_or("", |namespace| namespace.as_str());
    let subject = request.subject_claim_paths.iter().flat_map(SubjectPath::segments);
    let mut fields: Vec<Field> = Vec::with_capacity(request.claims.len() + 3);
    for element in request.claims.iter().chain(subject) {
        let path = format!("$['{namespace}']['{element}']");
        if !fields.iter().any(|field| field.path == [path.as_str()]) {
            fields.push(Field { path: [path], filter: None, intent_to_retain: Some(false) });
        }
    }
    fields
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::{DocType, NameSpace};
    use crate::request::fixtures;

    fn descriptor(request: &CredentialRequest) -> serde_json::Value {
        serde_json::to_value(InputDescriptor::new(request)).unwrap()
    }

    #[test]
    fn sd_jwt_descriptor_names_type_claims_and_algorithms() {
        let request = fixtures::request(json!({"credentials": [{
            "format": "vc+sd-jwt", "issuer_id": "https://one.example", "id": "pid", "alg": "ES384",
            "claims": ["given_name", "18_plus", "age"],
            "claim_filters": {"age": {"minimum": 18, "exclusiveMaximum": 99}, "given_name": {"minLength": 1}},
        }]}));
        let all = json!(["ES256", "ES384", "ES512"]);
        let expected = json!({
            "id": "pid",
            "format": {"vc+sd-jwt": {"sd-jwt_alg_values": ["ES384"], "kb-jwt_alg_values": all}},
            "constraints": {"limit_disclosure": "required", "fields": [
                {"path": ["$.vct"], "filter": {"type": "string", "const": "urn:one"}},
                {"path": ["$.given_name"]},
                {"path": ["$['18_plus']"]},
                {"path": ["$.age"], "filter": {"minimum": 18}},
            ]},
        });
        assert_eq!(descriptor(request.credentials.first().unwrap()), expected);
    }

    #[test]
    fn several_types_are_an_enum_and_none_has_no_field() {
        let mut request = fixtures::one_credential().credentials.remove(0);
        request.vct = vec!["a".into(), "b".into()];
        let filter = json!({"type": "string", "enum": ["a", "b"]});
        assert_eq!(descriptor(&request)["constraints"]["fields"][0]["filter"], filter);
        request.vct.clear();
        let fields = descriptor(&request)["constraints"]["fields"].clone();
        assert_eq!(fields, json!([{"path": ["$.given_name"]}]));
    }

    #[test]
    fn vct_as_a_claim_is_not_requested_twice() {
        let mut request = fixtures::one_credential().credentials.remove(0);
        request.claims = vec!["vct".into()];
        let fields = descriptor(&request)["constraints"]["fields"].clone();
        assert_eq!(fields.as_array().unwrap().len(), 1);
    }

    #[test]
    fn subject_claim_paths_of_a_group_are_requested_once() {
        let mut request = fixtures::one_credential().credentials.remove(0);
        request.vct.clear();
        request.subject_claim_paths =
            ["given_name", "address.country"].map(|path| SubjectPath::parse(path).unwrap()).into();
        let expected = json!([{"path": ["$.given_name"]}, {"path": ["$.address.country"]}]);
        assert_eq!(descriptor(&request)["constraints"]["fields"], expected);
    }

    #[test]
    fn a_claim_with_a_path_is_requested_there() {
        let mut request = fixtures::one_credential().credentials.remove(0);
        request.vct.clear();
        request.claims = ["city", "countries"].map(String::from).into();
        let path = |text| crate::ids::ClaimPath::from_json(text).unwrap();
        request.claim_paths = vec![
            ("city".into(), path(r#"["address","locality"]"#)),
            ("countries".into(), path(r#"["nationalities",null]"#)),
        ];
        let expected = json!([{"path": ["$.address.locality"]}, {"path": ["$.nationalities[*]"]}]);
        assert_eq!(descriptor(&request)["constraints"]["fields"], expected);
    }

    #[test]
    fn mdoc_descriptor_is_named_after_the_document_type() {
        let mut request = fixtures::one_credential().credentials.remove(0);
        request.format = CredentialFormat::Mdoc;
        request.doc_type = Some(DocType::new("org.iso.18013.5.1.mDL"));
        request.namespace = Some(NameSpace::new("org.iso.18013.5.1"));
        request.subject_claim_paths = vec![SubjectPath::top_level("birth_date")];
        let expected = json!({
            "id": "org.iso.18013.5.1.mDL",
            "format": {"mso_mdoc": {"alg": ["ES256", "ES384", "ES512"]}},
            "constraints": {"limit_disclosure": "required", "fields": [
                {"path": ["$['org.iso.18013.5.1']['given_name']"], "intent_to_retain": false},
                {"path": ["$['org.iso.18013.5.1']['birth_date']"], "intent_to_retain": false},
            ]},
        });
        assert_eq!(descriptor(&request), expected);
    }
}
