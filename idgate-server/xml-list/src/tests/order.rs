//! The reader checks the signer first, then the signature. It reads the content only if both are
//! valid.

use super::*;

/// Texts that are not lists of providers, each with the expected reason.
fn contents() -> Vec<(String, &'static str)> {
    let text = age_list().text();
    let cut = |from: &str, to: &str| {
        let (before, rest) = text.split_once(from).unwrap();
        [before, rest.split_once(to).unwrap().1].concat()
    };
    vec![
        (text.replace("/AVTL<", "/Other<"), "is of a type that is not known here"),
        (cut("<SchemeInformation>", "</SchemeInformation>"), "lacks its SchemeInformation"),
        (text.replace(">6</TSLVersion", ">4</TSLVersion"), "is not of version 5 or 6"),
        (cut("<NextUpdate>", "</NextUpdate>"), "has no NextUpdate that is a date and time"),
    ]
}

#[test]
fn content_is_not_read_before_the_signature_was_verified() {
    let signer = signer();
    for (text, why) in contents() {
        assert_refused(&XmlSigner::of(&signer, &signed_at()).sign(&text), why);
        let mut forger = XmlSigner::of(&signer, &signed_at());
        forger.make = Box::new(|input| signer.key.sign(&[input, b"x"].concat()));
        assert_not_authentic(&forger.sign(&text), "has a signature that does not verify");
    }
}

#[test]
fn content_is_not_read_before_the_signer_is_known() {
    let key = SigningKey::from_seed(Curve::P256, "stranger");
    let stranger = signer().builder.with(|one| one.spki = key.public_spki()).self_sign(&key);
    for (text, _) in contents() {
        let refused = import(&XmlSigner::of(&stranger, &signed_at()).sign(&text)).unwrap_err();
        assert_eq!(refused.kind, TrustedListErrorKind::UnknownSigner, "{refused}");
    }
}
