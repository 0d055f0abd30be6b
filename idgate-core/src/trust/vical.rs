//! VICALs (ISO/IEC 18013-5 annex C): a COSE_Sign1 around IACA certificates and the document types
//! that each may sign for.

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]
mod tests;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
use super::certificate::Certificate;
use super::master_list::{ImportedList, ListOutcome, take};
use super::path::authenticate_list_signer;
use crate::codec::cbor::{Tape, Value};
use crate::cose::{Sign1, alg_of_label};
use crate::crypto::CryptoProvider;
use crate::ids::DocType;
use crate::limits::{MAX_CERTIFICATES, MAX_LIST_NODES, MAX_LISTED_CERTIFICATES};
use crate::time::UnixMillis;

/// 1.0.18013.5.1.8
const VICAL_SIGNER: &[u8] = b"\x28\x81\x8c\x5d\x05\x01\x08";

/// Reads a VICAL. Its signer must lead to one of `signer_cas`, and all certificates of the path
/// must be valid now, even with `allow_stale`, because the VICAL's date is only the signer's own
/// claim.
///
/// Without `signer_cas` the signature is checked with a certificate from the VICAL itself. This
/// shows that it is undamaged, but anyone may have made it. For test material only.
///
/// # Errors
/// The file is not a VICAL, was changed, is not signed under `signer_cas`, is dated after `now`, or
/// its next update is due and `allow_stale` is not set.
pub fn import_vical(
    provider: &CryptoProvider,
    file: &[u8],
    signer_cas: Option<&[TrustAnchor]>,
    allow_stale: bool,
    now: UnixMillis,
) -> Result<ImportedList, TrustMaterialError> {
    let mut envelope = Tape::default();
    let id = envelope.parse(file).map_err(|_| error("is not CBOR"))?;
    let sign1 = Sign1::read(envelope.value(id)).map_err(|_| error("is not a COSE_Sign1"))?;
    let payload = sign1.payload.as_deref().ok_or(error("is a VICAL without content"))?;
    let mut tape = Tape::for_list(payload.len(), MAX_LIST_NODES);
    let id = tape.parse(payload).map_err(|_| error("has a content that is not CBOR"))?;
    let vical = tape.value(id);
    let date = instant(vical, "date").ok_or(error("is not a VICAL: it has no date"))?;
    let next_update = instant(vical, "nextUpdate");
    if date > now {
        return Err(error("is dated in the future"));
    }
    authenticate(provider, &sign1, payload, signer_cas, now)?;
    if next_update.is_some_and(|next| next < now) && !allow_stale {
        return Err(error("is stale: a newer VICAL is due; fetch it, or allow stale ones"));
    }
    let infos = vical.get("certificateInfos").and_then(Value::elements);
    let infos = infos.ok_or(error("is not a VICAL: it has no certificateInfos"))?;
    if infos.clone().count() > MAX_LISTED_CERTIFICATES {
        return Err(error("has more than 8192 certificates"));
    }
    let (mut roots, mut certificates) = (Vec::new(), Vec::new());
    for info in infos {
        let (root, mut entry) = take(provider, &certificate(info), RootOrigin::Vical, now);
        let doc_types = doc_types(info);
        if doc_types.is_empty() {
            entry.outcome = ListOutcome::Unusable("is listed for no document type".into());
        } else {
            roots.extend(root.map(|root| root.with_doc_types(doc_types)));
        }
        certificates.push(entry);
    }
    let signer_is_known = signer_cas.is_some();
    Ok(ImportedList { roots, certificates, signed_at: Some(date), next_update, signer_is_known })
}

fn authenticate(
    provider: &CryptoProvider,
    sign1: &Sign1<'_, '_>,
    payload: &[u8],
    cas: Option<&[TrustAnchor]>,
    at: UnixMillis,
) -> Result<(), TrustMaterialError> {
    let chain =
        sign1.headers.x5chain().map_err(|_| error("lacks the certificate of its signer"))?;
    if chain.len() > MAX_CERTIFICATES {
        return Err(error("has more than 10 certificates of its signer"));
    }
    let certificates: Result<Vec<_>, _> = chain.iter().map(|der| Certificate::parse(der)).collect();
    let certificates = certificates.map_err(|_| error("has a signer that cannot be read"))?;
    let (signer, others) =
        certificates.split_first().ok_or(error("lacks the certificate of its signer"))?;
    let key = signer.key()?;
    let key = key.nist().ok_or(error("has a signer whose key is not on P-256, P-384 or P-521"))?;
    if sign1.headers.alg().and_then(alg_of_label) != Some(key.alg()) {
        return Err(error("has an alg that does not fit its signer's key"));
    }
    provider
        .verify(key, &sign1.sig_structure(payload), &sign1.signature)
        .map_err(|_| error("has a signature that does not verify"))?;
    let Some(cas) = cas else { return Ok(()) };
    authenticate_list_signer(provider, signer, others, cas, VICAL_SIGNER, at).map_err(error)
}

fn certificate<'a>(info: Value<'_, 'a>) -> Cow<'a, [u8]> {
    info.get("certificate").and_then(Value::as_bytes).unwrap_or_default()
}

fn doc_types(info: Value<'_, '_>) -> Vec<DocType> {
    let types = info.get("docType").and_then(Value::elements);
    let types = types.map(|types| types.filter_map(Value::as_text).map(DocType::new).collect());
    types.unwrap_or_default()
}

fn instant(vical: Value<'_, '_>, name: &str) -> Option<UnixMillis> {
    UnixMillis::parse_rfc3339(&vical.get(name)?.tagged(0)?.as_text()?)
}

const fn error(why: &'static str) -> TrustMaterialError {
    TrustMaterialError(Cow::Borrowed(why))
}
