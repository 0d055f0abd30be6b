//! OpenID4VP 1.0 and HAIP: good answers to each request form, an answer to one of two offers, and
//! every forgery of the sample wallet.

// The table runs in tests only.
#![allow(clippy::expect_used)]

use idgate_core::IssuerId;
use idgate_core::crypto::aws_lc_rs;
use idgate_core::shell::{TrustEntry, TrustedKey, roots_from_file};
use idgate_core::trust::RevocationPolicy;
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::Curve;
use idgate_testkit::openid4vp::Forgery;
use idgate_testkit::samples::{self, ISSUER, MDL_ISSUER, VCT};
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use super::ways::{Asked, BY_REFERENCE, BY_VALUE, HAIP, OFFERED, Way};
use crate::tamper::scenario::NOW_MS;

/// Every request form with each format and with both, and every forgery of an answer with both.
pub(super) fn all() -> Vec<Value> {
    // The first case of each format is committed, so each has another request form.
    let asked: [(&[&str], [Way; 4]); 3] = [
        (&["pid"], [BY_VALUE, BY_REFERENCE, HAIP, OFFERED]),
        (&["mdl"], [OFFERED, BY_VALUE, BY_REFERENCE, HAIP]),
        (&["pid", "mdl"], [BY_REFERENCE, HAIP, OFFERED, BY_VALUE]),
    ];
    let good = asked.into_iter().flat_map(|(asked, ways)| {
        ways.map(|way| record(&format!("good, {}, {asked:?}", way.name), way, asked, Forgery::None))
    });
    let forgeries = [Forgery::SD_JWT_VC, Forgery::MDOC, Forgery::EVERY].concat();
    let forged = forgeries
        .into_iter()
        .map(|forgery| record(&format!("haip, {forgery:?}"), HAIP, &["pid", "mdl"], forgery));
    good.chain(forged).collect()
}

fn record(title: &str, way: Way, asked: &[&str], forgery: Forgery) -> Value {
    let people = People::new();
    let asked = Asked::new(&people.entries, way, asking(asked));
    let body = people.wallet.forge_1_0(&asked.request(), forgery, NOW_MS);
    asked.record(title, &people.trust, &body.expect("fitting credentials").body())
}

/// The credentials of these ids.
pub(super) fn asking(ids: &[&str]) -> Value {
    let all = [
        json!({ "id": "pid", "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] }),
        json!({ "id": "mdl", "format": "mso_mdoc", "issuer_id": MDL_ISSUER, "claims": ["family_name"] }),
    ];
    let named = |one: &Value| ids.iter().any(|id| one["id"] == *id);
    let credentials: Vec<Value> = all.into_iter().filter(named).collect();
    json!({ "credentials": credentials, "redirect_uri": "https://shop.example/back" })
}

/// The issuers, as core and as JSON, and the holder of their credentials.
pub(super) struct People {
    pub(super) wallet: Wallet,
    pub(super) trust: Value,
    pub(super) entries: [TrustEntry; 2],
}

impl People {
    pub(super) fn new() -> Self {
        let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
        let credential = samples::identity(&holder, NOW_MS).issue(&issuer);
        let mdl = samples::issue_mdl(NOW_MS);
        let jwk = issuer.public_jwk();
        let trust = json!([
            { "issuer_id": ISSUER, "vct": [VCT], "revocation": "off", "jwks": [jwk] },
            { "issuer_id": MDL_ISSUER, "revocation": "off", "roots": [base64url(&mdl.root.der)] },
        ]);
        let mut pid = TrustEntry::new(IssuerId::new(ISSUER));
        pid.vct = vec![VCT.into()];
        let key = idgate_core::shell::Jwk::parse(jwk.to_string().as_bytes()).expect("a JWK").key;
        pid.keys.push(TrustedKey::new(key));
        let mut dmv = TrustEntry::new(IssuerId::new(MDL_ISSUER));
        dmv.roots = roots_from_file(&aws_lc_rs::PROVIDER, &mdl.root.der).expect("a root");
        let mut entries = [pid, dmv];
        for entry in &mut entries {
            entry.revocation = RevocationPolicy::Off;
        }
        let wallet = Wallet::new(holder).with(credential).with_mdoc(mdl.document);
        Self { wallet, trust, entries }
    }
}
