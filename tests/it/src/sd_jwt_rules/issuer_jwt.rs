//! Rules 4 to 6: what the request and the trust entry require of the issuer's key and name.

use super::*;

#[test]
fn rule_04_the_request_can_narrow_the_algorithm() {
    let mut case = Case::on(Curve::P384);
    let credential = case.credential().issue(&case.issuer);
    case.alg = Some(Alg::Es384);
    accepted(case.present(&credential));
    case.alg = Some(Alg::Es256);
    refused(case.present(&credential), Reason::AlgorithmNotAllowed);
}

#[test]
fn rule_05_test_material_does_not_serve_live_sessions() {
    let mut case = Case::new();
    case.trust.keys = vec![trusted(&case.issuer).for_test_only()];
    refused(case.present(&case.credential().issue(&case.issuer)), Reason::UntrustedIssuer);
}

#[test]
fn rule_06_iss_is_free_where_the_entry_names_none() {
    let mut case = Case::new();
    case.trust.iss = None;
    accepted(
        case.present(&case.credential().plain("iss", "https://other.example").issue(&case.issuer)),
    );
}
