//! Trust entries as text and as JSON.

use std::fmt::Write as _;

use idgate_core::UnixMillis;
use idgate_core::shell::{PinnedSigner, TrustAnchor};
use idgate_core::trust::{DeviceResponseDocuments, OnUnknownRevocation};
use serde_json::{Value, json};

use super::list_show;
use crate::digest::{self, hex};
use idgate_store::{TrustCertificate, TrustKey, TrustRecord};

/// Returns an entry as JSON.
pub(super) fn to_json(record: &TrustRecord, now: UnixMillis) -> Value {
    let entry = record.entry();
    json!({
        "issuer_id": record.issuer_id,
        "iss": entry.iss,
        "vct": record.vct,
        "doc_types": record.doc_types,
        "namespaces": record.namespaces,
        "claims": record.claims,
        "country": record.country,
        "ekus": entry.ekus.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "sd_jwt_ekus": entry.sd_jwt_ekus.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "revocation": record.revocation.name(),
        "on_unknown_revocation": record.on_unknown_revocation.name(),
        "status_max_age_days": entry.status_max_age_days,
        "issuing_country_unbound": entry.issuing_country_unbound,
        "claim_paths": claim_paths_json(record),
        "aki": entry.aki,
        "device_response_documents": entry.device_response_documents.name(),
        "keys": record.keys.iter().map(key_json).collect::<Vec<_>>(),
        "roots": roots_json(&record.roots, now),
        "sd_jwt_roots": roots_json(&record.sd_jwt_roots, now),
        "status_roots": roots_json(&record.status_roots, now),
        "pinned_signers": signers_json(&record.pinned_signers, now),
        "sd_jwt_signers": signers_json(&record.sd_jwt_signers, now),
        "crls": crls_json(record, now),
        "lists": lists_json(record),
        "trusted_list": list_show::to_json(record, now),
        "etsi_tl": record.etsi_tl,
    })
}

/// Returns an entry as text.
pub(super) fn to_text(record: &TrustRecord, now: UnixMillis) -> String {
    let mut text = format!("{}\n", record.issuer_id);
    let entry = record.entry();
    let _ = writeln!(text, "  iss: {}", entry.iss.as_deref().unwrap_or("not compared"));
    for (what, list) in [
        ("vct", &record.vct),
        ("doc_types", &record.doc_types),
        ("namespaces", &record.namespaces),
        ("claims", &record.claims),
    ] {
        if !list.is_empty() {
            let _ = writeln!(text, "  {what}: {}", list.join(", "));
        }
    }
    if let Some(country) = &record.country {
        let _ = writeln!(text, "  country: {country}");
    }
    if let Some(ekus) = &record.ekus {
        let ekus: Vec<String> = ekus.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "  ekus: {}", ekus.join(", "));
    }
    if !record.sd_jwt_ekus.is_empty() {
        let ekus: Vec<String> = record.sd_jwt_ekus.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "  SD-JWT ekus: {}", ekus.join(", "));
    }
    let _ = writeln!(text, "  revocation: {}", record.revocation.name());
    if record.on_unknown_revocation != OnUnknownRevocation::Refuse {
        let _ = writeln!(text, "  on unknown revocation: {}", record.on_unknown_revocation.name());
    }
    if let Some(days) = record.status_max_age_days {
        let _ = writeln!(text, "  status lists without exp: {days} days");
    }
    if record.issuing_country_unbound {
        let _ = writeln!(text, "  issuing country: not bound in test-mode sessions");
    }
    for (name, path) in &record.claim_paths {
        let _ = writeln!(text, "  claim path: {name} = {path}");
    }
    if record.aki {
        text.push_str("  aki: queries name its roots\n");
    }
    if record.device_response_documents == DeviceResponseDocuments::Any {
        text.push_str("  documents in a DeviceResponse: any number\n");
    }
    for key in &record.keys {
        let kid = key.kid.as_deref().map(|kid| format!(", kid {kid}")).unwrap_or_default();
        let (alg, mode) = (key.key.alg().name(), mode(key.test_only));
        let _ = writeln!(text, "  key: {alg} {}, {mode}{kid}", fingerprint(key));
    }
    text + &certificates_text(record, now) + &list_show::to_text(record, now)
}

/// Returns the SHA-256 of the key's SubjectPublicKeyInfo in hexadecimal.
pub(super) fn fingerprint(key: &TrustKey) -> String {
    sha256(&key.key.spki_der())
}

/// Returns the SHA-256 in hexadecimal.
pub(super) fn sha256(der: &[u8]) -> String {
    hex(&digest::sha256(der))
}

/// Whether `end`, the last second of a validity period, has passed.
pub(super) fn is_expired(end: UnixMillis, now: UnixMillis) -> bool {
    end.0.saturating_add(1000) <= now.0
}

fn certificates_text(record: &TrustRecord, now: UnixMillis) -> String {
    let mut text = String::new();
    let expired = |end| if is_expired(end, now) { ", expired" } else { "" };
    let roots = record.roots.iter().map(|root| ("root", &root.certificate));
    let status_roots = record.status_roots.iter().map(|root| ("status root", &root.certificate));
    let sd_jwt_roots = record.sd_jwt_roots.iter().map(|root| ("SD-JWT root", &root.certificate));
    for (what, root) in roots.chain(sd_jwt_roots).chain(status_roots) {
        let (sha256, end) = (hex(&root.sha256()), root.not_after());
        let (kind, origin, mode) = (root.key_kind(), root.origin.name(), mode(root.test_only));
        let subject = root.subject();
        let expired = expired(end);
        let _ = writeln!(
            text,
            "  {what}: {subject}, {kind}, {sha256}, {origin}, {mode}, until {end}{expired}"
        );
    }
    let pinned = record.pinned_signers.iter().map(|one| ("pinned signer", &one.certificate));
    let sd_jwt = record.sd_jwt_signers.iter().map(|one| ("SD-JWT signer", &one.certificate));
    for (what, signer) in pinned.chain(sd_jwt) {
        let (sha256, end) = (sha256(signer.der()), signer.not_after());
        let (subject, mode, expired) = (signer.subject(), mode(signer.test_only), expired(end));
        let _ = writeln!(text, "  {what}: {subject}, {sha256}, {mode}, until {end}{expired}");
    }
    for crl in &record.crls {
        let sha256 = hex(&crl.sha256);
        let _ = match &crl.verified {
            Ok(crl) => writeln!(
                text,
                "  CRL: {sha256}, {} revoked, of {}, next on {}{}",
                crl.revoked_count(),
                crl.this_update(),
                crl.next_update(),
                expired(crl.next_update())
            ),
            Err(why) => writeln!(text, "  CRL: {sha256}, not used: {why}"),
        };
    }
    for list in &record.lists {
        let of = list.issued_at.map_or("unknown date".into(), |at| at.to_string());
        let _ = writeln!(
            text,
            "  {}: {}of {of}, {} certificates, {} skipped, {}",
            list.kind,
            list.sha256.as_deref().map(|sha256| hex(sha256) + ", ").unwrap_or_default(),
            list.certificates,
            list.skipped,
            mode(list.test_only)
        );
    }
    text
}

fn claim_paths_json(record: &TrustRecord) -> Value {
    record.claim_paths.iter().map(|(name, path)| (name.clone(), json!(path))).collect()
}

fn key_json(key: &TrustKey) -> Value {
    json!({
        "alg": key.key.alg().name(),
        "kid": key.kid,
        "sha256": fingerprint(key),
        "test_only": key.test_only,
        "added_at": key.added_at.to_string(),
    })
}

fn roots_json(roots: &[TrustCertificate<TrustAnchor>], now: UnixMillis) -> Vec<Value> {
    let json = |root: &TrustCertificate<TrustAnchor>| {
        let certificate = &root.certificate;
        json!({
            "subject": certificate.subject(),
            "sha256": hex(&certificate.sha256()),
            "key": certificate.key_kind(),
            "not_before": certificate.not_before().to_string(),
            "not_after": certificate.not_after().to_string(),
            "expired": is_expired(certificate.not_after(), now),
            "origin": certificate.origin.name(),
            "doc_types": certificate.doc_types.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
            "test_only": certificate.test_only,
            "added_at": root.added_at.to_string(),
        })
    };
    roots.iter().map(json).collect()
}

fn signers_json(signers: &[TrustCertificate<PinnedSigner>], now: UnixMillis) -> Vec<Value> {
    let json = |signer: &TrustCertificate<PinnedSigner>| {
        let certificate = &signer.certificate;
        json!({
            "subject": certificate.subject(),
            "sha256": sha256(certificate.der()),
            "not_after": certificate.not_after().to_string(),
            "expired": is_expired(certificate.not_after(), now),
            "test_only": certificate.test_only,
            "added_at": signer.added_at.to_string(),
        })
    };
    signers.iter().map(json).collect()
}

fn crls_json(record: &TrustRecord, now: UnixMillis) -> Vec<Value> {
    let json = |crl: &idgate_store::TrustCrl| {
        let (sha256, added_at) = (hex(&crl.sha256), crl.added_at.to_string());
        match &crl.verified {
            Ok(crl) => json!({
                "sha256": sha256,
                "numbered": crl.is_numbered(),
                "this_update": crl.this_update().to_string(),
                "next_update": crl.next_update().to_string(),
                "expired": is_expired(crl.next_update(), now),
                "revoked": crl.revoked_count(),
                "added_at": added_at,
            }),
            Err(why) => {
                json!({ "sha256": sha256, "not_used_because": why, "added_at": added_at })
            }
        }
    };
    record.crls.iter().map(json).collect()
}

fn lists_json(record: &TrustRecord) -> Vec<Value> {
    let json = |list: &idgate_store::TrustList| {
        json!({
            "kind": list.kind,
            "sha256": list.sha256.as_deref().map(hex),
            "issued_at": list.issued_at.map(|at| at.to_string()),
            "next_update": list.next_update.map(|at| at.to_string()),
            "certificates": list.certificates,
            "skipped": list.skipped,
            "test_only": list.test_only,
            "added_at": list.added_at.to_string(),
        })
    };
    record.lists.iter().map(json).collect()
}

const fn mode(test_only: bool) -> &'static str {
    if test_only { "test only" } else { "live and test" }
}
