//! Rule 1: the parts of the presentation, and their limits.

use super::*;

#[test]
fn a_good_presentation_is_verified_on_every_curve() {
    for curve in Curve::ALL {
        let case = Case::on(curve);
        let verified = accepted(case.present(&case.credential().issue(&case.issuer)));
        assert_eq!(verified.claims().as_json(), r#"{"given_name":"Erika"}"#);
        assert_eq!(verified.facts().alg.name(), curve.alg());
    }
}

/// The same rule applies to a session's `vp_token`, before anything is verified.
#[test]
fn rule_01_anything_but_the_compact_form_is_malformed() {
    let case = Case::new();
    let good = case.text(&case.credential().issue(&case.issuer));
    malformed(case.verify(""));
    malformed(case.verify(&format!("{{\"payload\":\"{good}\"}}")));
}

#[test]
fn rule_01_hostile_sizes_are_refused_in_linear_time() {
    let case = Case::new();
    for hostile in
        ["~".repeat(500_000), ".".repeat(500_000), "A~".repeat(250_000), "[".repeat(500_000)]
    {
        assert!(case.verify(&hostile).is_err());
    }
    refused(case.verify(&"~".repeat(1 << 20)), Reason::LimitExceeded);
    refused(case.verify(&".".repeat(1 << 20)), Reason::LimitExceeded);
    let deep = |text: String| {
        format!("{}.{}.AAAA~", base64url(b"{\"alg\":\"ES256\"}"), base64url(text.as_bytes()))
    };
    let nested = "{\"a\":".repeat(70_000);
    for nested in [nested, "[".repeat(100_000)] {
        let verdict = case.verify(&(deep(nested) + "e30.e30.AAAA"));
        refused(verdict, Reason::LimitExceeded);
    }
}

#[test]
fn rule_01_at_most_4000_disclosures() {
    let case = Case::new();
    let issued = case.credential().issue(&case.issuer);
    let shown = |count: usize| {
        let mut text = issued.jwt.clone();
        text.push_str(&"~W10".repeat(count));
        text + "~e30.e30.AAAA"
    };
    refused(case.verify(&shown(4001)), Reason::LimitExceeded);
    assert_ne!(case.verify(&shown(4000)).err(), Some(Reason::LimitExceeded));
}
