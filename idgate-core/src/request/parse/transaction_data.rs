//! `transaction_data`: what the holder is asked to agree to, from the tenant's objects to the texts that
//! wallets hash (OpenID4VP 5.1, 8.4, B.3.3.1).

use alloc::string::String;
use alloc::vec::Vec;

use super::credential::Draft;
use super::profiles::Profiles;
use super::sets::parse_ids;
use crate::codec::base64url;
use crate::crypto::HashAlg;
use crate::error::{ErrorCode, RequestError};
use crate::ids::CredentialFormat;
use crate::limits::MAX_TRANSACTION_DATA;
use crate::request::fields::Field;
use crate::request::presentation_request::PresentationRequest;
use crate::request::transaction_data::{TransactionData, with_ids};

/// An object of the tenant's, with what it names looked at.
pub(super) struct Parsed<'t, 'a> {
    field: Field<'t, 'a>,
    credential_ids: Vec<String>,
    hash_algs: Vec<HashAlg>,
}

/// The objects. How they are sent is known once the credentials are.
pub(super) fn parse_transaction_data<'t, 'a>(
    root: &Field<'t, 'a>,
    drafts: &[Draft],
    profiles: &Profiles,
) -> Result<Vec<Parsed<'t, 'a>>, RequestError> {
    let Some(field) = root.member("transaction_data") else { return Ok(Vec::new()) };
    profiles.refuse_in_draft(&field)?;
    let elements = field.elements()?;
    if elements.is_empty() || elements.len() > MAX_TRANSACTION_DATA {
        return Err(field.invalid("must have 1 to 10 objects"));
    }
    elements.into_iter().map(|element| parse_one(element, drafts)).collect()
}

fn parse_one<'t, 'a>(
    field: Field<'t, 'a>,
    drafts: &[Draft],
) -> Result<Parsed<'t, 'a>, RequestError> {
    field.members()?;
    let kind = field.required("type")?;
    if kind.string()?.is_empty() {
        return Err(kind.invalid("must not be empty"));
    }
    let known = |id: &str| drafts.iter().any(|draft| draft.request.id == id);
    let credential_ids = parse_ids(&field.required("credential_ids")?, known)?;
    let hash_algs = parse_hash_algs(&field)?;
    Ok(Parsed { field, credential_ids, hash_algs })
}

fn parse_hash_algs(field: &Field<'_, '_>) -> Result<Vec<HashAlg>, RequestError> {
    let Some(field) = field.member("transaction_data_hashes_alg") else { return Ok(Vec::new()) };
    let mut algs = Vec::new();
    for element in field.elements()? {
        let alg = HashAlg::from_name(&element.string()?)
            .ok_or_else(|| element.invalid("must be sha-256, sha-384 or sha-512"))?;
        if algs.contains(&alg) {
            return Err(element.invalid("must not repeat an algorithm"));
        }
        algs.push(alg);
    }
    if algs.is_empty() {
        return Err(field.invalid("must name at least one algorithm"));
    }
    Ok(algs)
}

/// Puts the texts into `request`, whose credentials are resolved.
pub(super) fn encode(
    parsed: Vec<Parsed<'_, '_>>,
    request: &mut PresentationRequest,
) -> Result<(), RequestError> {
    for Parsed { field, credential_ids, hash_algs } in parsed {
        let ids = signing_ids(request, &credential_ids);
        if ids.is_empty() {
            let rule = "must name an SD-JWT VC: an mdoc cannot sign transaction data";
            return Err(RequestError::new(
                ErrorCode::InvalidRequest,
                field.path_of("credential_ids"),
                rule,
            ));
        }
        let encoded = base64url::encode(with_ids(field.value, &ids).as_bytes());
        if request.transaction_data.iter().any(|other| other.encoded == encoded) {
            return Err(field.invalid("must differ from the other transaction data"));
        }
        request.transaction_data.push(TransactionData { encoded, credential_ids, hash_algs });
    }
    Ok(())
}

/// The query ids of those among the named credentials that can sign: wallets choose one of these.
fn signing_ids(request: &PresentationRequest, named: &[String]) -> Vec<String> {
    let asked = request.credentials.iter().enumerate();
    let signing = asked.filter(|(_, credential)| {
        credential.format == CredentialFormat::SdJwtVc && named.contains(&credential.id)
    });
    signing.map(|(index, _)| request.query_id(index).into_owned()).collect()
}
