//! `transaction_data`: the transactions that the holder is asked to approve, from the tenant's
//! objects to the texts that wallets hash (OpenID4VP 5.1, 8.4, B.3.3.1).

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
use crate::request::presentation_request::{CredentialRequest, PresentationRequest};
use crate::request::transaction_data::{TransactionData, with_ids};

/// A tenant's object, with its checked members.
pub(super) struct Parsed<'t, 'a> {
    field: Field<'t, 'a>,
    credential_ids: Vec<String>,
    hash_algs: Vec<HashAlg>,
}

/// Reads the objects. They can be encoded only after the credentials are resolved.
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
    let credential_ids = parse_ids(&field.required("credential_ids")?, drafts)?;
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

/// Writes the texts into `request`, whose credentials are resolved.
pub(super) fn encode(
    parsed: Vec<Parsed<'_, '_>>,
    request: &mut PresentationRequest,
) -> Result<(), RequestError> {
    for Parsed { field, credential_ids, hash_algs } in parsed {
        let at = |member: &str, rule| {
            RequestError::new(ErrorCode::InvalidRequest, field.path_of(member), rule)
        };
        if signing(request, &credential_ids).next().is_none() {
            let rule = "must name an SD-JWT VC: an mdoc cannot sign transaction data";
            return Err(at("credential_ids", rule));
        }
        if !can_always_be_signed(request, &credential_ids) {
            let rule = "must name an SD-JWT VC in each option of a required set of credential_sets: \
                        the wallet may choose any option";
            return Err(at("credential_ids", rule));
        }
        if !shares_a_hash(request, &credential_ids, &hash_algs) {
            let rule = "must share an algorithm with the other transaction data that only this \
                        credential can sign; if the member is absent, it is sha-256";
            return Err(at("transaction_data_hashes_alg", rule));
        }
        let ids: Vec<_> = signing(request, &credential_ids)
            .map(|(index, _)| request.query_id(index).into_owned())
            .collect();
        let encoded = base64url::encode(with_ids(field.value, &ids).as_bytes());
        if request.transaction_data.iter().any(|other| other.encoded == encoded) {
            return Err(field.invalid("must differ from the other transaction data"));
        }
        request.transaction_data.push(TransactionData { encoded, credential_ids, hash_algs });
    }
    Ok(())
}

/// Those of the named credentials that can sign, with their places; wallets choose one of them.
fn signing<'r>(
    request: &'r PresentationRequest,
    named: &[String],
) -> impl Iterator<Item = (usize, &'r CredentialRequest)> {
    request.credentials.iter().enumerate().filter(|(_, credential)| {
        credential.format == CredentialFormat::SdJwtVc && named.contains(&credential.id)
    })
}

/// Whether the answer has a credential that can sign, whatever the wallet chooses.
fn can_always_be_signed(request: &PresentationRequest, named: &[String]) -> bool {
    let signs = |id: &String| signing(request, named).any(|(_, credential)| credential.id == *id);
    let mut required = request.credential_sets.iter().filter(|set| set.required);
    request.credential_sets.is_empty()
        || required.any(|set| set.options.iter().all(|option| option.iter().any(signs)))
}

/// A proof has one hash algorithm for all transaction data that it signs (OpenID4VP B.3.3.1).
fn shares_a_hash(request: &PresentationRequest, named: &[String], algs: &[HashAlg]) -> bool {
    let only = |named: &[String]| {
        let mut signing = signing(request, named);
        let first = signing.next().map(|(index, _)| index);
        first.filter(|_| signing.next().is_none())
    };
    let Some(signer) = only(named) else { return true };
    let others = request.transaction_data.iter();
    let others = others.filter(|other| only(&other.credential_ids) == Some(signer));
    let fits = |algs: &[HashAlg], alg| match algs {
        [] => alg == HashAlg::Sha256,
        algs => algs.contains(&alg),
    };
    [HashAlg::Sha256, HashAlg::Sha384, HashAlg::Sha512]
        .into_iter()
        .any(|alg| fits(algs, alg) && others.clone().all(|other| fits(&other.hash_algs, alg)))
}
