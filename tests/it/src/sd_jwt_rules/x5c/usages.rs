//! Extended key usages of the certificate (RFC 5280 4.2.1.12).

use super::*;

/// A case whose entry requires these extended key usages of its issuers.
fn demanding(ekus: &[&str]) -> Certified {
    let mut certified = Certified::new();
    certified.case.trust.sd_jwt_ekus = ekus.iter().map(|eku| Oid::parse(eku).unwrap()).collect();
    certified
}

/// The issuer's certificate with these extended key usages.
fn signer_for(certified: &Certified, usages: &[&str]) -> Identity {
    let value = x509::ext_key_usage(usages);
    let signer = certified.builder().set(x509::EXT_KEY_USAGE, true, value);
    signer.issue(&certified.root, &certified.case.issuer)
}

/// RFC 5280 4.2.1.12.
#[test]
fn a_certificate_for_other_uses_cannot_sign_credentials() {
    let certified = Certified::new();
    for usages in [&[SERVER_AUTH][..], &["1.0.18013.5.1.6"], &[SERVER_AUTH, "1.3.6.1.5.5.7.3.2"]] {
        let verdict = certified.with(&[signer_for(&certified, usages).der]);
        refused(verdict, Reason::ChainInvalid);
    }
    for usages in [&["1.2.3.4"][..], &[ANY_USE], &[SERVER_AUTH, "1.2.3.4"], &["1.0.18013.5.1.2"]] {
        accepted(certified.with(&[signer_for(&certified, usages).der]));
    }
}

#[test]
fn a_certificate_needs_an_extended_key_usage_that_the_entry_requires() {
    let certified = demanding(&["1.2.3.4", "1.2.3.5"]);
    for usages in [&["1.2.3.4"][..], &["1.2.3.5", SERVER_AUTH]] {
        accepted(certified.with(&[signer_for(&certified, usages).der]));
    }
    for usages in [&["1.2.3"][..], &[SERVER_AUTH], &[ANY_USE]] {
        let verdict = certified.with(&[signer_for(&certified, usages).der]);
        refused(verdict, Reason::ChainInvalid);
    }
    refused(certified.with(&[&certified.signer.der]), Reason::ChainInvalid);
    let certified = demanding(&[ANY_USE]);
    accepted(certified.with(&[signer_for(&certified, &[ANY_USE]).der]));
    accepted(certified.with(&[&certified.signer.der]));
    let verdict = certified.with(&[signer_for(&certified, &["1.2.3.4"]).der]);
    refused(verdict, Reason::ChainInvalid);
}

#[test]
fn a_pinned_signer_needs_the_same_key_usages() {
    for (demanded, usages, taken) in [
        (&[][..], &[SERVER_AUTH][..], false),
        (&[], &["1.2.3.4"], true),
        (&["1.2.3.4"], &["1.2.3.5"], false),
        (&["1.2.3.4"], &["1.2.3.4"], true),
        (&[SERVER_AUTH], &[SERVER_AUTH], true),
    ] {
        let mut certified = demanding(demanded);
        let signer = signer_for(&certified, usages);
        certified.case.trust.sd_jwt_roots.clear();
        certified.case.trust.sd_jwt_signers.push(pinned(&signer));
        let refused_ones = certified.case.trust.refused_sd_jwt_signers().count();
        assert_eq!(refused_ones, usize::from(!taken), "{demanded:?} {usages:?}");
        match taken {
            true => drop(accepted(certified.with(&[&signer.der]))),
            false => refused(certified.with(&[&signer.der]), Reason::ChainInvalid),
        }
    }
}
