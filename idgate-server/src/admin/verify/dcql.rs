//! The answer to a DCQL query, credential by credential (OpenID4VP 8.6).

use std::path::Path;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::MAX_TTL_MS;
use idgate_core::shell::{
    CapturedAnswer, ClaimFilter, ExpectedMdoc, ExpectedSdJwtVc, MdocRequest, base64url,
    verify_mdoc, verify_sd_jwt_vc,
};
use idgate_core::trust::DeviceResponseDocuments;
use idgate_core::verify::CredentialReport;
use idgate_core::{CredentialFormat, Profile, UnixMillis};

use super::outcome::{self, Outcome};
use super::query::{Asked, AskedClaim, Query};
use super::{VerifyOptions, mdoc, read_text, trust};
use crate::admin::files::in_file;
use crate::admin::output::Output;
use crate::failure::Failure;

/// Verifies the `vp_token` in the file against the query.
pub(super) fn verify(
    options: &VerifyOptions,
    path: &Path,
    at: UnixMillis,
) -> Result<Output, Failure> {
    let query = Query::read(path)?;
    let answer = CapturedAnswer::parse(&read_text(&options.file)?);
    let answer = answer.map_err(|why| in_file(&options.file, why))?;
    let ids: Vec<&str> = query.credentials.iter().map(|asked| asked.id.as_str()).collect();
    let presented = match answer.assign(&ids, &query.sets) {
        Ok(presented) => presented,
        Err(refusal) => return Ok(outcome::tell(&CredentialReport::default(), &Err(refusal))),
    };
    let mut told = Vec::new();
    for (asked, presentation) in query.credentials.iter().zip(presented) {
        if let Some(presentation) = presentation {
            let mut report = CredentialReport::default();
            report.profile = Some(Profile::V1_0);
            let result = match asked.format {
                CredentialFormat::Mdoc => {
                    device_response(options, asked, presentation, at, &mut report)?
                }
                _ => sd_jwt_vc(options, asked, presentation, at, &mut report)?,
            };
            told.push((asked.id.as_str(), report, result));
        }
    }
    Ok(outcome::tell_all(&told))
}

fn sd_jwt_vc(
    options: &VerifyOptions,
    asked: &Asked,
    presentation: &str,
    at: UnixMillis,
    report: &mut CredentialReport,
) -> Result<Outcome, Failure> {
    let mut issuer = trust::sd_jwt_issuer(options)?;
    issuer.vct.clone_from(&asked.types);
    // As JSON text, similar paths stay distinct.
    let named = || asked.claims.iter().map(|claim| (claim.path.to_string(), claim));
    let claims: Vec<String> = named().map(|(name, _)| name).collect();
    let paths: Vec<_> = named().map(|(name, claim)| (name, claim.path.clone())).collect();
    let filters = filters(named());
    let requested_at = at.minus(MAX_TTL_MS);
    let audience = options.audience();
    let mut expected = ExpectedSdJwtVc::new(&issuer, &audience, options.nonce(), requested_at, at);
    expected.livemode = !options.test;
    expected.claims = &claims;
    expected.claim_paths = &paths;
    expected.filters = &filters;
    Ok(verify_sd_jwt_vc(&PROVIDER, presentation, &expected, report))
}

fn device_response(
    options: &VerifyOptions,
    asked: &Asked,
    presentation: &str,
    at: UnixMillis,
    report: &mut CredentialReport,
) -> Result<Outcome, Failure> {
    let response_uri = mdoc::response_uri(options)?;
    let issuer = trust::certificates(options)?;
    let encryption = mdoc::encryption(options)?;
    let handovers = mdoc::handovers(options, &encryption, Profile::V1_0);
    let audience = options.audience();
    let request = MdocRequest { client_id: &audience, nonce: options.nonce(), response_uri };
    let (namespace, elements) = elements(asked)?;
    let claims: Vec<String> = elements.iter().map(|(name, _)| name.clone()).collect();
    let filters = filters(elements);
    let doc_type = asked.types.first().map_or("", String::as_str);
    let mut expected = ExpectedMdoc::new(&issuer, doc_type, &namespace, request, at);
    expected.livemode = !options.test;
    expected.handovers = &handovers;
    expected.claims = &claims;
    expected.filters = &filters;
    expected.documents = DeviceResponseDocuments::One;
    // No request of OpenID4VP 1.0 announces device MACs, so none is valid.
    expected.reader_key = None;
    // The core refuses text that is not base64url, like any other malformed DeviceResponse.
    let bytes = base64url::decode(presentation).unwrap_or_default();
    Ok(verify_mdoc(&PROVIDER, &bytes, &expected, report))
}

/// A namespace, and the names of elements in it, each with its claim of the query.
type Elements<'a> = (String, Vec<(String, &'a AskedClaim)>);

/// The namespace and elements in the paths of an mdoc (OpenID4VP B.2.4).
fn elements(asked: &Asked) -> Result<Elements<'_>, Failure> {
    let mut namespace = String::new();
    let mut claims = Vec::new();
    for claim in &asked.claims {
        let mut parts = claim.path.components();
        let (Some(Some(first)), Some(Some(element)), None) =
            (parts.next(), parts.next(), parts.next())
        else {
            let why = format!("{}: a path of an mdoc must be a namespace and an element", asked.id);
            return Err(Failure::Error(why));
        };
        if !namespace.is_empty() && namespace != first {
            let why = format!("{}: elements of several namespaces are not supported", asked.id);
            return Err(Failure::Error(why));
        }
        first.clone_into(&mut namespace);
        claims.push((element.to_owned(), claim));
    }
    Ok((namespace, claims))
}

/// The filters of claims, by their names.
fn filters<'a>(
    named: impl IntoIterator<Item = (String, &'a AskedClaim)>,
) -> Vec<(String, ClaimFilter)> {
    named.into_iter().filter_map(|(name, claim)| Some((name, claim.filter.clone()?))).collect()
}
