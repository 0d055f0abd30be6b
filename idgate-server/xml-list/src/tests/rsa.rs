//! Lists that OpenSSL signs with RSA.

use std::fs;
use std::process::Command;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{ListAnchors, ListRules, TrustedList, TrustedListError};
use idgate_testkit::xml_list::{EXCLUSIVE, XmlKind, XmlList, XmlSigner};

use crate::import_trusted_list;

/// A signer of lists with an RSA key of that size.
pub(super) struct RsaSigner {
    dir: tempfile::TempDir,
    /// The start of validity of its certificate, which these tests use as the current time.
    now: UnixMillis,
}

impl RsaSigner {
    pub(super) fn new(bits: u32) -> Self {
        let mut signer = Self { dir: tempfile::tempdir().unwrap(), now: UnixMillis(0) };
        let key = format!("rsa:{bits}");
        let make =
            ["req", "-x509", "-newkey", &key, "-noenc", "-keyout", "key.pem", "-out", "cert.pem"];
        let names =
            ["-subj", "/C=BE/O=Example Operator", "-addext", "basicConstraints=critical,CA:FALSE"];
        signer.openssl(&[&make[..], &["-days", "400"], &names].concat());
        signer.openssl(&["x509", "-in", "cert.pem", "-outform", "DER", "-out", "cert.der"]);
        let dates = ["x509", "-in", "cert.pem", "-noout", "-startdate", "-dateopt", "iso_8601"];
        let told = signer.openssl(&dates).trim().replace(' ', "T");
        let begin = told.strip_prefix("notBefore=").and_then(UnixMillis::parse_rfc3339);
        signer.now = begin.unwrap();
        signer
    }

    fn openssl(&self, arguments: &[&str]) -> String {
        let output =
            Command::new("openssl").args(arguments).current_dir(self.dir.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn der(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("cert.der")).unwrap()
    }

    fn make(&self, digest: &str, pss: bool, input: &[u8]) -> Vec<u8> {
        fs::write(self.dir.path().join("input"), input).unwrap();
        let digest = format!("-{digest}");
        let mut sign = vec!["dgst", &digest, "-sign", "key.pem", "-out", "signature"];
        if pss {
            sign.extend(["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]);
        }
        sign.push("input");
        self.openssl(&sign);
        fs::read(self.dir.path().join("signature")).unwrap()
    }

    /// Signs the age list with `digest` and padding, and names `algorithm` in it.
    pub(super) fn sign(&self, algorithm: &str, (digest, pss): (&'static str, bool)) -> String {
        let list = XmlList::new(XmlKind::Age, self.now.0);
        let signer = XmlSigner {
            chain: vec![self.der()],
            named: Some(self.der()),
            algorithm: algorithm.to_owned(),
            make: Box::new(move |input| self.make(digest, pss, input)),
            method: EXCLUSIVE,
            by_xpath: true,
            signed_at: Some(list.issued.clone()),
            edit: Box::new(|text| text),
        };
        signer.sign(&list.text())
    }

    pub(super) fn import(&self, file: &str) -> Result<TrustedList, TrustedListError> {
        let anchors = ListAnchors::from_file(&PROVIDER, &self.der()).unwrap();
        import_trusted_list(&PROVIDER, file.as_bytes(), &ListRules::new(&anchors), self.now)
    }

    fn taken(
        &self,
        algorithm: &str,
        how: (&'static str, bool),
    ) -> Result<TrustedList, TrustedListError> {
        self.import(&self.sign(algorithm, how))
    }
}

const PKCS1: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha";
const PSS: &str = "http://www.w3.org/2007/05/xmldsig-more#sha";

/// An algorithm that a list names, and the hash and padding of its signature: PSS or PKCS #1.
type Way = (String, (&'static str, bool));

/// Both paddings with each hash.
pub(super) fn good_ways() -> Vec<Way> {
    let of = |digest: &'static str| {
        let bits = &digest[3..];
        let pss = (format!("{PSS}{bits}-rsa-MGF1"), (digest, true));
        [(format!("{PKCS1}{bits}"), (digest, false)), pss]
    };
    ["sha256", "sha384", "sha512"].into_iter().flat_map(of).collect()
}

/// Another padding or hash than the list names.
pub(super) fn wrong_ways() -> [Way; 4] {
    [
        (format!("{PKCS1}256"), ("sha256", true)),
        (format!("{PSS}256-rsa-MGF1"), ("sha256", false)),
        (format!("{PKCS1}512"), ("sha256", false)),
        (format!("{PSS}384-rsa-MGF1"), ("sha256", true)),
    ]
}

#[test]
fn rsa_is_accepted_with_both_paddings_and_each_hash() {
    let signer = RsaSigner::new(2048);
    for (algorithm, how) in good_ways() {
        let taken = signer.taken(&algorithm, how);
        assert!(taken.is_ok(), "{algorithm}: {taken:?}");
    }
}

#[test]
fn rsa_with_a_padding_or_hash_other_than_named_is_refused() {
    let signer = RsaSigner::new(2048);
    for (algorithm, how) in wrong_ways() {
        let refused = signer.taken(&algorithm, how).unwrap_err().to_string();
        assert!(refused.contains("has a signature that does not verify"), "{algorithm}: {refused}");
    }
    let other = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256";
    let refused = signer.taken(other, ("sha256", false)).unwrap_err().to_string();
    assert!(refused.contains("that does not fit its signer's key"), "{refused}");
}

#[test]
fn rsa_below_2048_bits_is_refused() {
    let signer = RsaSigner::new(1024);
    let file = signer.sign(&format!("{PKCS1}256"), ("sha256", false));
    let rules = ListRules::for_tests();
    let refused = import_trusted_list(&PROVIDER, file.as_bytes(), &rules, signer.now).unwrap_err();
    assert!(refused.to_string().contains("not an RSA key of 2048 to 8192 bits"), "{refused}");
}
