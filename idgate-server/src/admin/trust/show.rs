//! Trust entries for people and for programs.

use std::fmt::Write as _;

use idgate_core::time::UnixMillis;
use serde_json::{Value, json};

use crate::store::{TrustKey, TrustRecord};

/// An entry for programs.
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
        "revocation": record.revocation.name(),
        "keys": record.keys.iter().map(key_json).collect::<Vec<_>>(),
        "roots": roots_json(record, now),
        "pinned_signers": signers_json(record, now),
        "crls": crls_json(record, now),
        "lists": lists_json(record),
    })
}

/// An entry for people.
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
    let _ = writeln!(text, "  revocation: {}", record.revocation.name());
    for key in &record.keys {
        let kid = key.kid.as_deref().map(|kid| format!(", kid {kid}")).unwrap_or_default();
        let (alg, mode) = (key.key.alg().name(), mode(key.test_only));
        let _ = writeln!(text, "  key: {alg} {}, {mode}{kid}", fingerprint(key));
    }
    text + &certificates_text(record, now)
}

/// Hex of the SHA-256 of the key's SubjectPublicKeyInfo.
pub(super) fn fingerprint(key: &TrustKey) -> String {
    sha256(&key.key.spki_der())
}

/// Hex of the SHA-256.
pub(super) fn sha256(der: &[u8]) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, der).as_ref())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `end`, the last second of something, is over.
pub(super) fn is_expired(end: UnixMillis, now: UnixMillis) -> bool {
    end.0.saturating_add(1000) <= now.0
}

fn certificates_text(record: &TrustRecord, now: UnixMillis) -> String {
    let mut text = String::new();
    let expired = |end| if is_expired(end, now) { ", expired" } else { "" };
    for root in record.roots.iter().map(|root| &root.certificate) {
        let (sha256, end) = (hex(&root.sha256()), root.not_after());
        let (kind, origin, mode) = (root.key_kind(), root.origin.name(), mode(root.test_only));
        let subject = root.subject();
        let expired = expired(end);
        let _ = writeln!(
            text,
            "  root: {subject}, {kind}, {sha256}, {origin}, {mode}, until {end}{expired}"
        );
    }
    for signer in record.pinned_signers.iter().map(|signer| &signer.certificate) {
        let (sha256, end) = (sha256(signer.der()), signer.not_after());
        let (subject, mode, expired) = (signer.subject(), mode(signer.test_only), expired(end));
        let _ =
            writeln!(text, "  pinned signer: {subject}, {sha256}, {mode}, until {end}{expired}");
    }
    for crl in &record.crls {
        let _ = match &crl.verified {
            Ok(crl) => writeln!(
                text,
                "  CRL: {} revoked, of {}, next on {}{}",
                crl.revoked_count(),
                crl.this_update(),
                crl.next_update(),
                expired(crl.next_update())
            ),
            Err(why) => writeln!(text, "  CRL: not used: {why}"),
        };
    }
    for list in &record.lists {
        let of = list.issued_at.map_or("unknown date".into(), |at| at.to_string());
        let _ = writeln!(
            text,
            "  {}: of {of}, {} certificates, {} skipped, {}",
            list.kind,
            list.certificates,
            list.skipped,
            mode(list.test_only)
        );
    }
    text
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

fn roots_json(record: &TrustRecord, now: UnixMillis) -> Vec<Value> {
    let json = |root: &crate::store::TrustCertificate<_>| {
        let certificate: &idgate_core::trust::TrustAnchor = &root.certificate;
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
    record.roots.iter().map(json).collect()
}

fn signers_json(record: &TrustRecord, now: UnixMillis) -> Vec<Value> {
    let json = |signer: &crate::store::TrustCertificate<_>| {
        let certificate: &idgate_core::trust::PinnedSigner = &signer.certificate;
        json!({
            "subject": certificate.subject(),
            "sha256": sha256(certificate.der()),
            "not_after": certificate.not_after().to_string(),
            "expired": is_expired(certificate.not_after(), now),
            "test_only": certificate.test_only,
            "added_at": signer.added_at.to_string(),
        })
    };
    record.pinned_signers.iter().map(json).collect()
}

fn crls_json(record: &TrustRecord, now: UnixMillis) -> Vec<Value> {
    let json = |crl: &crate::store::TrustCrl| {
        let added_at = crl.added_at.to_string();
        match &crl.verified {
            Ok(crl) => json!({
                "this_update": crl.this_update().to_string(),
                "next_update": crl.next_update().to_string(),
                "expired": is_expired(crl.next_update(), now),
                "revoked": crl.revoked_count(),
                "added_at": added_at,
            }),
            Err(why) => json!({ "not_used_because": why, "added_at": added_at }),
        }
    };
    record.crls.iter().map(json).collect()
}

fn lists_json(record: &TrustRecord) -> Vec<Value> {
    let json = |list: &crate::store::TrustList| {
        json!({
            "kind": list.kind,
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
