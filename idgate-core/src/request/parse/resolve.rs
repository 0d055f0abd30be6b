//! Completes a request with the defaults and the accepted types of the trust entry, and checks that
//! the entry can serve the request.

use alloc::vec::Vec;

use crate::error::{ErrorCode, Remedy, RequestError};
use crate::ids::{CredentialFormat, DocType, NameSpace};
use crate::limits::MAX_CLAIMS;
use crate::request::parse::claim_paths::add_paths_of;
use crate::request::parse::credential::{Draft, never_a_claim, push_claim};
use crate::request::parse::profiles::Profiles;
use crate::request::presentation_request::CredentialRequest;
use crate::request::profile::Profile;
use crate::request::subject_path::is_claim_name;
use crate::trust::{TrustEntry, TrustSnapshot};

/// The document type of a request when neither it nor its trust entry names one.
const DEFAULT_DOC_TYPE: &str = "org.iso.18013.5.1.mDL";

/// The namespace of well-known document types.
const NAMESPACES: [(&str, &str); 3] = [
    ("org.iso.18013.5.1.mDL", "org.iso.18013.5.1"),
    ("eu.europa.ec.eudi.pid.1", "eu.europa.ec.eudi.pid.1"),
    ("org.iso.23220.photoid.1", "org.iso.23220.1"),
];

/// The legacy form asks for the default claims of the trust entry.
pub(super) fn legacy_claims(draft: &mut Draft, trust: &TrustSnapshot) -> Result<(), RequestError> {
    let entry = entry_of(draft, trust)?;
    for name in entry.default_claims.iter().filter(|name| is_claim_name(name)).take(MAX_CLAIMS) {
        push_claim(&mut draft.request.claims, name);
    }
    if draft.request.claims.is_empty() {
        let rule = "has no default claims; ask for claims with credentials";
        return Err(draft.invalid("issuer_id", rule));
    }
    Ok(())
}

/// Completes every credential. Faults that the tenant can correct are reported before those of the
/// trust store.
pub(super) fn resolve(
    mut drafts: Vec<Draft>,
    trust: &TrustSnapshot,
    livemode: bool,
    profiles: &Profiles,
) -> Result<Vec<CredentialRequest>, RequestError> {
    for draft in &mut drafts {
        let entry = entry_of(draft, trust)?;
        if draft.format_is_open {
            draft.request.format = default_format(entry, livemode);
        }
        let format = draft.request.format;
        // Other forms have refused such a name at its own field.
        if draft.request.claims.iter().any(|name| never_a_claim(format, name)) {
            let rule =
                "has _sd or _sd_alg among its default claims; ask for claims with credentials";
            return Err(draft.invalid("issuer_id", rule));
        }
        match format {
            CredentialFormat::SdJwtVc => {
                draft.request.vct.clone_from(&entry.vct);
                if profiles.speak_dcql() {
                    add_paths_of(entry, &mut draft.request);
                }
            }
            CredentialFormat::Mdoc => resolve_mdoc(draft, entry)?,
        }
        if profiles.speak_dcql() {
            draft.request.aki = entry.aki_values(draft.request.doc_type.as_ref(), livemode);
            draft.request.etsi_tl.clone_from(&entry.etsi_tl);
        }
    }
    if profiles.speak(Profile::Draft) {
        refuse_equal_descriptor_ids(&drafts)?;
    }
    for draft in &drafts {
        let entry = entry_of(draft, trust)?;
        can_serve(draft, entry, livemode)?;
        can_sign(draft, entry, livemode)?;
        if profiles.speak_dcql() {
            can_be_asked_for(draft)?;
        }
    }
    Ok(drafts.into_iter().map(|draft| draft.request).collect())
}

fn entry_of<'t>(draft: &Draft, trust: &'t TrustSnapshot) -> Result<&'t TrustEntry, RequestError> {
    trust.entry(&draft.request.issuer_id).ok_or_else(|| {
        draft.error(ErrorCode::UnknownIssuer, "issuer_id", "is not in the trust store")
    })
}

fn resolve_mdoc(draft: &mut Draft, entry: &TrustEntry) -> Result<(), RequestError> {
    let doc_type = match (&draft.request.doc_type, entry.doc_types.as_slice()) {
        (Some(asked), accepted) if accepted.is_empty() || accepted.contains(asked) => asked.clone(),
        (Some(_), _) => {
            let rule = "is not a document type that this issuer is trusted for";
            return Err(draft.invalid("doc_type", rule));
        }
        (None, [only]) => only.clone(),
        (None, accepted) => {
            let default = DocType::new(DEFAULT_DOC_TYPE);
            if !(accepted.is_empty() || accepted.contains(&default)) {
                let rule = "is required: this issuer is trusted for several document types";
                return Err(draft.invalid("doc_type", rule));
            }
            default
        }
    };
    if draft.request.namespace.is_none() {
        let namespace = default_namespace(&doc_type, entry)
            .ok_or_else(|| draft.invalid("namespace", "is required for this document type"))?;
        draft.request.namespace = Some(namespace);
    }
    draft.request.doc_type = Some(doc_type);
    Ok(())
}

fn default_namespace(doc_type: &DocType, entry: &TrustEntry) -> Option<NameSpace> {
    let known = NAMESPACES.iter().find(|(known, _)| *known == doc_type.as_str());
    match (known, entry.namespaces.as_slice()) {
        (Some((_, namespace)), _) => Some(NameSpace::new(*namespace)),
        (None, [only]) => Some(only.clone()),
        (None, _) => None,
    }
}

/// Descriptor ids are unique in a presentation definition, and an mdoc's is its document type.
pub(super) fn refuse_equal_descriptor_ids(drafts: &[Draft]) -> Result<(), RequestError> {
    for (index, draft) in drafts.iter().enumerate() {
        let Some(doc_type) = &draft.request.doc_type else { continue };
        let earlier = drafts.iter().take(index);
        if earlier.into_iter().any(|other| other.request.doc_type.as_ref() == Some(doc_type)) {
            let rule = "must differ from that of the other credentials: one per document type";
            return Err(draft.invalid("doc_type", rule));
        }
        let clash = drafts.iter().find(|other| {
            other.request.format == CredentialFormat::SdJwtVc
                && other.request.id == doc_type.as_str()
        });
        if let Some(clash) = clash {
            return Err(clash.invalid("id", "must not be the doc_type of another credential"));
        }
    }
    Ok(())
}

/// The format that the entry has material for in this mode; SD-JWT VC if it has both or neither.
fn default_format(entry: &TrustEntry, livemode: bool) -> CredentialFormat {
    if !serves_sd_jwt_vc(entry, livemode) && serves_mdoc(entry, livemode) {
        return CredentialFormat::Mdoc;
    }
    CredentialFormat::SdJwtVc
}

/// The error if the entry's certificates are all a sandbox's.
const SAMPLES_ALONE: &str =
    "has nothing but a sandbox's sample certificates, which live sessions do not trust";

/// Test material is for test sessions only.
fn can_serve(draft: &Draft, entry: &TrustEntry, livemode: bool) -> Result<(), RequestError> {
    let refused = |rule| draft.error(ErrorCode::UnknownIssuer, "issuer_id", rule);
    let rule = match draft.request.format {
        CredentialFormat::SdJwtVc if serves_sd_jwt_vc(entry, livemode) => return Ok(()),
        CredentialFormat::Mdoc if serves_mdoc(entry, livemode) => return Ok(()),
        format @ CredentialFormat::SdJwtVc if !names_types(entry, format) => {
            let rule = "follows a trusted list and names no type of SD-JWT VC";
            return Err(refused(rule).with_remedy(Remedy::AddVct));
        }
        format @ CredentialFormat::Mdoc if !names_types(entry, format) => {
            let rule = "follows a trusted list and names no type of mdoc";
            return Err(refused(rule).with_remedy(Remedy::AddDocType));
        }
        CredentialFormat::SdJwtVc if livemode && entry.has_samples_alone(false) => SAMPLES_ALONE,
        CredentialFormat::Mdoc if livemode && entry.has_samples_alone(true) => SAMPLES_ALONE,
        CredentialFormat::SdJwtVc if livemode => {
            "has no issuer key or root for live SD-JWT VC sessions"
        }
        CredentialFormat::SdJwtVc => "has no issuer key or root for SD-JWT VC",
        CredentialFormat::Mdoc if livemode => "has no X.509 root for live mso_mdoc sessions",
        CredentialFormat::Mdoc => "has no X.509 root for mso_mdoc",
    };
    Err(refused(rule))
}

/// An `alg` that no key of the entry has can never be met. This is certain only if the entry has
/// just keys and pinned signers: signers below a root may use any algorithm.
fn can_sign(draft: &Draft, entry: &TrustEntry, livemode: bool) -> Result<(), RequestError> {
    let Some(alg) = draft.request.alg else { return Ok(()) };
    let possible = match draft.request.format {
        CredentialFormat::SdJwtVc => {
            let mut pinned = entry.sd_jwt_signers_for(livemode);
            entry.keys_for(livemode).any(|key| key.key.alg() == alg)
                || entry.sd_jwt_roots_for(livemode).next().is_some()
                || pinned.any(|signer| signer.alg() == alg)
        }
        CredentialFormat::Mdoc => {
            let mut pinned = entry.pinned_signers_for(livemode);
            entry.roots_for(livemode).next().is_some() || pinned.any(|signer| signer.alg() == alg)
        }
    };
    if possible {
        return Ok(());
    }
    Err(draft.invalid("alg", "is not the algorithm of any key that this issuer is trusted with"))
}

/// A DCQL query for an SD-JWT VC names its types (OpenID4VP B.3.5).
fn can_be_asked_for(draft: &Draft) -> Result<(), RequestError> {
    if draft.request.format == CredentialFormat::SdJwtVc && draft.request.vct.is_empty() {
        let rule = "names no type to ask for in this profile";
        let error = draft.error(ErrorCode::UnknownIssuer, "issuer_id", rule);
        return Err(error.with_remedy(Remedy::AddVct));
    }
    Ok(())
}

fn serves_sd_jwt_vc(entry: &TrustEntry, livemode: bool) -> bool {
    names_types(entry, CredentialFormat::SdJwtVc)
        && (entry.keys_for(livemode).next().is_some() || entry.takes_x5c(livemode))
}

fn serves_mdoc(entry: &TrustEntry, livemode: bool) -> bool {
    names_types(entry, CredentialFormat::Mdoc)
        && (entry.roots_for(livemode).next().is_some()
            || entry.pinned_signers_for(livemode).next().is_some())
}

/// Whether the entry accepts at least one type of this format. Without names it accepts all types,
/// unless it follows a trusted list.
fn names_types(entry: &TrustEntry, format: CredentialFormat) -> bool {
    let none_named = match format {
        CredentialFormat::SdJwtVc => entry.vct.is_empty(),
        CredentialFormat::Mdoc => entry.doc_types.is_empty(),
    };
    !(none_named && entry.follows_list)
}
