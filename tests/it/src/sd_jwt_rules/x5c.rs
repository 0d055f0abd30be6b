//! The issuer's key from `x5c` (HAIP 6.1.1, RFC 7515 4.1.6, RFC 5280 6).

mod usages;

use idgate_core::error::Check;
use idgate_core::shell::{Oid, PinnedSigner, RootOrigin, TrustAnchor};
use idgate_testkit::der::PRINTABLE_STRING;
use idgate_testkit::time::{DAY_MS, YEAR_MS};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};

use super::*;

const NOW_MS: u64 = NOW * 1000;

/// A case whose issuer has a certificate under a root that is trusted for SD-JWT VC, and no trusted
/// key.
struct Certified {
    case: Case,
    root: Identity,
    signer: Identity,
}

impl Certified {
    fn new() -> Self {
        Self::on(Curve::P256)
    }

    fn on(curve: Curve) -> Self {
        let mut case = Case::on(curve);
        let root = Identity::issuer_root(curve, NOW_MS);
        let signer = root.issuer_of_sd_jwts(&case.issuer, NOW_MS);
        case.trust.keys.clear();
        case.trust.sd_jwt_roots.push(anchor(&root));
        Self { case, root, signer }
    }

    fn builder(&self) -> CertificateBuilder {
        self.signer.builder.clone()
    }

    /// Presents a credential signed by the issuer's key with these certificates in its header.
    fn with<C: AsRef<[u8]>>(&self, chain: &[C]) -> Verdict {
        self.present(self.case.credential().x5c(chain))
    }

    /// The same with the signer changed before its certificate is issued.
    fn changed(&self, change: impl FnOnce(CertificateBuilder) -> CertificateBuilder) -> Verdict {
        self.with(&[change(self.builder()).sign(&self.root.key)])
    }

    fn present(&self, credential: CredentialBuilder) -> Verdict {
        self.case.present(&credential.issue(&self.case.issuer))
    }

    /// A chain of this many CAs, each under the previous one, and a signer under the last. Leaf
    /// first.
    fn long_chain(&self, cas: usize) -> Vec<Vec<u8>> {
        let mut above = vec![self.root.clone()];
        for at in 0..cas {
            let key = SigningKey::from_seed(Curve::P256, format!("ca {at}"));
            let issuer = above.last().unwrap();
            let name = Name::new("UT", &format!("CA {at}"));
            let ca = CertificateBuilder::issuer_root(name, &key, NOW_MS).under(issuer);
            let ca = ca.issue(issuer, &key);
            above.push(ca);
        }
        let signer = above.last().unwrap().issuer_of_sd_jwts(&self.case.issuer, NOW_MS);
        let cas = above.into_iter().skip(1).map(|ca| ca.der);
        cas.chain([signer.der]).rev().collect()
    }
}

fn anchor(root: &Identity) -> TrustAnchor {
    TrustAnchor::from_der(&aws_lc_rs::PROVIDER, &root.der, RootOrigin::RootFile).unwrap()
}

fn pinned(signer: &Identity) -> PinnedSigner {
    PinnedSigner::from_der(&aws_lc_rs::PROVIDER, &signer.der).unwrap()
}

#[test]
fn the_leafs_key_verifies_a_chain_to_a_root() {
    for curve in Curve::ALL {
        let certified = Certified::on(curve);
        let verified = accepted(certified.with(&[&certified.signer.der]));
        let facts = verified.facts();
        assert_eq!(facts.trust.name(), "x5chain");
        let anchor_sha256 = facts.trust.anchor_sha256(&aws_lc_rs::PROVIDER);
        assert_eq!(anchor_sha256.as_bytes(), HashAlg::Sha256.hash(&certified.root.der));
        assert_eq!(facts.alg.name(), curve.alg());
        assert_eq!(facts.issuer.as_deref(), Some(ISSUER));
        assert_eq!(verified.claims().get("given_name"), Some(r#""Erika""#));
        let credential = certified.case.credential().x5c(&[&certified.signer.der]);
        let text = certified.case.text(&credential.issue(&certified.case.issuer));
        let report = certified.case.report(&text);
        for check in [Check::CertificatePath, Check::CertificateValidity, Check::CertificateProfile]
        {
            assert!(report.passed.contains(check), "{check}");
        }
    }
}

#[test]
fn the_error_names_the_mark_if_a_live_session_has_only_a_sandboxs_root() {
    let mut certified = Certified::new();
    let marked = certified.root.builder.clone().marked_as_sample();
    let marked = TrustAnchor::from_der(
        &aws_lc_rs::PROVIDER,
        &marked.self_sign(&certified.root.key).der,
        RootOrigin::RootFile,
    );
    certified.case.trust.sd_jwt_roots = vec![marked.unwrap()];
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
    let case = &certified.case;
    let credential = case.credential().x5c(&[&certified.signer.der]).issue(&case.issuer);
    let text = case.text(&credential);
    let mut report = CredentialReport::default();
    let mut expected = case.expected(&case.trust);
    let error = verify_sd_jwt_vc(&PROVIDERS[0], &text, &expected, &mut report).unwrap_err();
    assert_eq!(error.check, Check::CertificatePath);
    assert!(error.to_string().contains("sandbox samples"), "{error}");
    expected.livemode = false;
    assert!(verify_sd_jwt_vc(&PROVIDERS[0], &text, &expected, &mut report).is_ok());
}

#[test]
fn the_issuer_is_the_subject_of_the_certificate_when_iss_is_absent() {
    let certified = Certified::new();
    let credential = certified.case.credential().without("iss").x5c(&[&certified.signer.der]);
    let verified = accepted(certified.present(credential));
    assert_eq!(verified.facts().issuer.as_deref(), Some("CN=Utopia registry,C=UT"));
}

#[test]
fn iss_must_equal_the_iss_of_the_entry() {
    let mut certified = Certified::new();
    let other = |certified: &Certified| {
        let credential = certified.case.credential().plain("iss", "https://other.example");
        certified.present(credential.x5c(&[&certified.signer.der]))
    };
    refused(other(&certified), Reason::UntrustedIssuer);
    certified.case.trust.iss = None;
    accepted(other(&certified));
}

#[test]
fn intermediates_lead_to_the_root_in_any_order() {
    let certified = Certified::new();
    for cas in [1, 2, 8] {
        let mut chain = certified.long_chain(cas);
        accepted(certified.with(&chain));
        chain[1..].reverse();
        accepted(certified.with(&chain));
        chain.remove(1);
        refused(certified.with(&chain), Reason::ChainInvalid);
    }
}

#[test]
fn path_length_constraints_are_enforced() {
    let mut certified = Certified::new();
    let limited = certified.root.builder.clone().set(
        x509::BASIC_CONSTRAINTS,
        true,
        x509::basic_constraints(true, Some(0)),
    );
    certified.root = limited.self_sign(&certified.root.key.clone());
    certified.case.trust.sd_jwt_roots = vec![anchor(&certified.root)];
    accepted(certified.with(&[&certified.signer.der]));
    refused(certified.with(&certified.long_chain(1)), Reason::ChainInvalid);
}

#[test]
fn x5c_has_one_to_ten_certificates() {
    let certified = Certified::new();
    let of = |count: usize| certified.with(&vec![certified.signer.der.clone(); count]);
    malformed(of(0));
    accepted(of(1));
    accepted(of(10));
    refused(of(11), Reason::LimitExceeded);
}

#[test]
fn x5c_certificates_are_in_standard_base64() {
    let certified = Certified::new();
    let header = |x5c: Value| certified.present(certified.case.credential().header("x5c", x5c));
    let good = jws::x5c(&[&certified.signer.der]);
    let text = good[0].as_str().unwrap();
    accepted(header(good.clone()));
    malformed(header(json!(text)));
    malformed(header(json!([base64url(&certified.signer.der)])));
    malformed(header(json!([format!("{text}\n")])));
    malformed(header(json!([{ "x5c": text }])));
    malformed(header(Value::Null));
    refused(header(json!(["AAAA"])), Reason::ChainInvalid);
    refused(header(jws::x5c(&[[&*certified.signer.der, b"x"].concat()])), Reason::ChainInvalid);
}

#[test]
fn the_leaf_must_be_first() {
    let certified = Certified::new();
    let mut chain = certified.long_chain(1);
    chain.reverse();
    assert!(certified.with(&chain).is_err());
}

#[test]
fn a_chain_may_include_the_anchor_but_is_not_trusted_for_it() {
    let mut certified = Certified::new();
    let chain = [&certified.signer.der, &certified.root.der];
    accepted(certified.with(&chain));
    let mut longer = certified.long_chain(1);
    longer.push(certified.root.der.clone());
    accepted(certified.with(&longer));
    let key = SigningKey::from_seed(Curve::P256, "another root");
    let name = Name::new("UT", "Others");
    let other = CertificateBuilder::issuer_root(name, &key, NOW_MS).self_sign(&key);
    certified.case.trust.sd_jwt_roots = vec![anchor(&other)];
    refused(certified.with(&chain), Reason::ChainInvalid);
}

#[test]
fn a_self_signed_leaf_is_refused_unless_it_is_pinned() {
    let mut certified = Certified::new();
    let itself = certified.builder().with(|own| own.issuer = own.subject.clone());
    let itself = itself.without(x509::AUTHORITY_KEY_IDENTIFIER).self_sign(&certified.case.issuer);
    refused(certified.with(&[&itself.der]), Reason::ChainInvalid);
    certified.case.trust.sd_jwt_signers.push(pinned(&itself));
    let verified = accepted(certified.with(&[&itself.der]));
    assert_eq!(verified.facts().trust.name(), "pinned_signer");
    refused(certified.with(&[&Identity::iaca(Curve::P256, NOW_MS).der]), Reason::ChainInvalid);
}

/// It signs with the root's own key.
#[test]
fn the_anchor_itself_is_a_self_signed_leaf() {
    let mut certified = Certified::new();
    let for_both = x509::key_usage(0b1000_0110);
    let root = certified.root.builder.clone().set(x509::KEY_USAGE, true, for_both);
    let root = root.self_sign(&certified.root.key);
    certified.case.trust.sd_jwt_roots = vec![anchor(&root)];
    certified.case.issuer = root.key.clone();
    refused(certified.with(&[&root.der]), Reason::ChainInvalid);
    certified.case.trust.sd_jwt_signers.push(pinned(&root));
    accepted(certified.with(&[&root.der]));
}

/// Equal names are not always equal bytes (RFC 5280 7.1).
#[test]
fn the_anchor_itself_is_self_signed_whatever_the_string_types_of_its_names() {
    let mut certified = Certified::new();
    let root = certified.root.builder.clone().with(|root| {
        for (_, tag, _) in &mut root.issuer.attributes {
            *tag = PRINTABLE_STRING;
        }
    });
    let root = root.set(x509::KEY_USAGE, true, x509::key_usage(0b1000_0110));
    assert_ne!(root.issuer.der(), root.subject.der());
    let root = root.self_sign(&certified.root.key);
    certified.case.trust.sd_jwt_roots = vec![anchor(&root)];
    certified.case.issuer = root.key.clone();
    refused(certified.with(&[&root.der]), Reason::ChainInvalid);
}

#[test]
fn every_certificate_must_be_valid_now_without_skew() {
    let certified = Certified::new();
    let of = |from: u64, until: u64| {
        certified.changed(|signer| {
            signer.with(|own| (own.not_before_ms, own.not_after_ms) = (from, until))
        })
    };
    accepted(of(NOW_MS, NOW_MS));
    refused(of(NOW_MS + 1000, NOW_MS + YEAR_MS), Reason::CertificateExpired);
    // The credential's own iat is within the certificate's dates.
    refused(of(NOW_MS - YEAR_MS, NOW_MS - 1000), Reason::CertificateExpired);
    let chain = |days: u64| {
        let key = SigningKey::from_seed(Curve::P256, "ca");
        let ca = CertificateBuilder::issuer_root(Name::new("UT", "CA"), &key, NOW_MS);
        let ca = ca.under(&certified.root).with(|ca| ca.not_after_ms = NOW_MS + days * DAY_MS);
        let ca = ca.with(|ca| ca.not_before_ms = NOW_MS - YEAR_MS);
        let ca = ca.with(|ca| ca.not_after_ms -= 2 * DAY_MS).issue(&certified.root, &key);
        [ca.issuer_of_sd_jwts(&certified.case.issuer, NOW_MS).der, ca.der]
    };
    accepted(certified.with(&chain(3)));
    refused(certified.with(&chain(1)), Reason::CertificateExpired);
}

#[test]
fn an_expired_root_is_not_trusted() {
    let mut certified = Certified::new();
    let root = certified.root.builder.clone().with(|root| root.not_after_ms = NOW_MS - 1000);
    certified.case.trust.sd_jwt_roots = vec![anchor(&root.self_sign(&certified.root.key))];
    refused(certified.with(&[&certified.signer.der]), Reason::CertificateExpired);
}

#[test]
fn a_pinned_signer_is_within_its_dates() {
    let mut certified = Certified::new();
    let late = certified.builder().with(|own| own.not_after_ms = NOW_MS - 1000);
    let late = late.issue(&certified.root, &certified.case.issuer);
    certified.case.trust.sd_jwt_signers.push(pinned(&late));
    refused(certified.with(&[&late.der]), Reason::CertificateExpired);
}

#[test]
fn the_signature_must_be_by_the_certificates_key() {
    let certified = Certified::new();
    let stranger = SigningKey::from_seed(Curve::P256, "stranger");
    let credential = certified.case.credential().x5c(&[&certified.signer.der]);
    refused(certified.case.present(&credential.issue(&stranger)), Reason::IssuerSignatureInvalid);
}

#[test]
fn alg_must_fit_the_certificates_key_and_the_request() {
    let mut certified = Certified::new();
    for alg in ["ES384", "none", "HS256"] {
        let credential = certified.case.credential().header("alg", alg);
        let verdict = certified.present(credential.x5c(&[&certified.signer.der]));
        refused(verdict, Reason::AlgorithmNotAllowed);
    }
    certified.case.alg = Some(Alg::Es384);
    refused(certified.with(&[&certified.signer.der]), Reason::AlgorithmNotAllowed);
    certified.case.alg = Some(Alg::Es256);
    accepted(certified.with(&[&certified.signer.der]));
}

#[test]
fn the_leaf_key_must_be_for_signatures() {
    let certified = Certified::new();
    let usage =
        |bits| certified.changed(|own| own.set(x509::KEY_USAGE, true, x509::key_usage(bits)));
    accepted(usage(0b1100_0000));
    refused(usage(0b0010_0000), Reason::ChainInvalid);
    accepted(certified.changed(|own| own.without(x509::KEY_USAGE)));
}

#[test]
fn the_document_signer_profile_is_not_required_of_sd_jwt_issuers() {
    let certified = Certified::new();
    let usage = x509::ext_key_usage(&["1.2.3.4"]);
    accepted(certified.changed(|own| own.set(x509::EXT_KEY_USAGE, true, usage)));
    let unknown = |critical| certified.changed(|own| own.set("1.2.3.4.5", critical, vec![5, 0]));
    accepted(unknown(false));
    refused(unknown(true), Reason::ChainInvalid);
}

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
const ANY_USE: &str = "2.5.29.37.0";

/// They are not processed, in the issuer's certificate or above it, so they must be rejected
/// instead of ignored.
#[test]
fn extensions_that_restrict_paths_are_refused() {
    let certified = Certified::new();
    let key = SigningKey::from_seed(Curve::P256, "ca");
    let name = Name::new("UT", "CA");
    let ca = CertificateBuilder::issuer_root(name, &key, NOW_MS).under(&certified.root);
    let below = |ca: CertificateBuilder| {
        let ca = ca.issue(&certified.root, &key);
        certified.with(&[ca.issuer_of_sd_jwts(&certified.case.issuer, NOW_MS).der, ca.der])
    };
    accepted(below(ca.clone()));
    for oid in ["2.5.29.33", "2.5.29.30", "2.5.29.36", "2.5.29.54", "2.5.29.46"] {
        for critical in [false, true] {
            let with = |builder: CertificateBuilder| builder.set(oid, critical, vec![0x30, 0]);
            refused(certified.changed(with), Reason::ChainInvalid);
            refused(below(with(ca.clone())), Reason::ChainInvalid);
        }
    }
}

#[test]
fn mdoc_roots_are_never_trusted_for_sd_jwts() {
    let mut certified = Certified::new();
    certified.case.trust.roots = core::mem::take(&mut certified.case.trust.sd_jwt_roots);
    certified.case.trust.pinned_signers.push(pinned(&certified.signer));
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
    certified.case.trust.keys.push(trusted(&certified.case.issuer));
    let verified = accepted(certified.with(&[&certified.signer.der]));
    assert_eq!(verified.facts().trust.name(), "issuer_key");
}

#[test]
fn x5c_is_verified_by_roots_and_its_absence_by_keys() {
    let mut certified = Certified::new();
    refused(certified.present(certified.case.credential()), Reason::UntrustedIssuer);
    certified.case.trust.keys.push(trusted(&certified.case.issuer));
    let verified = accepted(certified.present(certified.case.credential()));
    assert_eq!(verified.facts().trust.name(), "issuer_key");
    let verified = accepted(certified.with(&[&certified.signer.der]));
    assert_eq!(verified.facts().trust.name(), "x5chain");
    // The trusted key signed this one too, which does not help.
    let other =
        Identity::iaca(Curve::P256, NOW_MS).issuer_of_sd_jwts(&certified.case.issuer, NOW_MS);
    refused(certified.with(&[&other.der]), Reason::ChainInvalid);
    malformed(certified.with::<Vec<u8>>(&[]));
    // Nor does the certificate's key help if the header does not name it.
    certified.case.trust.keys = vec![trusted(&SigningKey::from_seed(Curve::P256, "other"))];
    refused(certified.present(certified.case.credential()), Reason::IssuerSignatureInvalid);
}

#[test]
fn keys_in_other_header_members_are_ignored() {
    let mut certified = Certified::new();
    let jwk = certified.case.issuer.public_jwk();
    let with = |certified: &Certified, credential: CredentialBuilder| {
        certified.present(credential.header("jwk", jwk.clone()))
    };
    refused(with(&certified, certified.case.credential()), Reason::UntrustedIssuer);
    for (name, value) in [
        ("jku", json!("https://issuer.example/jwks")),
        ("x5u", json!("https://issuer.example/chain.pem")),
        ("x5t#S256", json!(HashAlg::Sha256.digest("another certificate"))),
    ] {
        let credential = certified.case.credential().x5c(&[&certified.signer.der]);
        accepted(certified.present(credential.header(name, value.clone())));
        let without = certified.case.credential().header(name, value);
        refused(certified.present(without), Reason::UntrustedIssuer);
    }
    certified.case.issuer = SigningKey::from_seed(Curve::P256, "stranger");
    let credential = certified.case.credential().x5c(&[&certified.signer.der]);
    refused(with(&certified, credential), Reason::IssuerSignatureInvalid);
}

#[test]
fn test_roots_are_not_trusted_in_live_mode() {
    let mut certified = Certified::new();
    let root = certified.case.trust.sd_jwt_roots.remove(0);
    certified.case.trust.sd_jwt_roots.push(root.for_test_only());
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
    certified.case.trust.sd_jwt_roots.clear();
    certified.case.trust.sd_jwt_signers.push(pinned(&certified.signer).for_test_only());
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
}

#[test]
fn sandbox_roots_and_signers_are_not_trusted_in_live_mode() {
    let mut certified = Certified::new();
    let marked = |identity: &Identity, issuer: &Identity| {
        identity.builder.clone().marked_as_sample().issue(issuer, &identity.key)
    };
    let root = marked(&certified.root, &certified.root);
    let signer = marked(&certified.signer, &root);
    certified.case.trust.sd_jwt_roots = vec![anchor(&root)];
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
    certified.case.trust.sd_jwt_roots.clear();
    certified.case.trust.sd_jwt_signers.push(pinned(&signer));
    refused(certified.with(&[&signer.der]), Reason::UntrustedIssuer);
    let other = anchor(&Identity::iaca(Curve::P256, NOW_MS));
    certified.case.trust.sd_jwt_roots = vec![other, anchor(&root)];
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
}

#[test]
fn only_roots_of_the_entrys_country_are_trusted() {
    let mut certified = Certified::new();
    certified.case.trust.countries = vec!["ut".into()];
    accepted(certified.with(&[&certified.signer.der]));
    certified.case.trust.countries = vec!["DE".into()];
    refused(certified.with(&[&certified.signer.der]), Reason::UntrustedIssuer);
}
