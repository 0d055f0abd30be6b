//! One good list in many notations, and lists in which a good signature is placed around other
//! content, next to it or in front of it. [`super::xmlsec`] and [`super::dss`] give the same lists to
//! other programs.

use idgate_core::shell::TrustedList;
use idgate_testkit::keys::Curve;
use idgate_testkit::x509::Identity;
use idgate_testkit::xml_list::{
    DS_NS, EXCLUSIVE, GRANTED, INCLUSIVE, LIST_NS, PAA, XmlList, XmlSigner, provider, service,
};

use super::{NOW, age_list, import, signed_at, signer};

/// A list, and whether its content is the signed one.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_good: bool,
}

/// The lists of one comparison with another program, which must accept every list that idgate accepts, and every good one.
#[derive(Debug)]
pub(super) struct Comparison {
    program: &'static str,
    pub(super) accepted: usize,
    pub(super) refused: usize,
}

impl Comparison {
    pub(super) const fn with(program: &'static str) -> Self {
        Self { program, accepted: 0, refused: 0 }
    }

    /// Adds a list, with the verdicts of idgate and of the other program.
    pub(super) fn add(&mut self, Case { name, is_good, .. }: &Case, [own, other]: [bool; 2]) {
        let program = self.program;
        assert!(other || !own, "{name}: accepted by idgate, and refused by {program}");
        assert!(other || !is_good, "{name}: good, and refused by {program}");
        match own {
            true => self.accepted += 1,
            false => self.refused += 1,
        }
    }
}

/// A provider that is in no signed list.
fn evil_provider() -> String {
    let der = Identity::issuer_root(Curve::P256, NOW.0).der;
    provider("Evil", "NTRUT-666", "UT", &[service(PAA, GRANTED, &[&der])])
}

fn evil_list() -> String {
    XmlList { providers: vec![evil_provider()], ..age_list() }.text()
}

struct Cases(Vec<Case>);

impl Cases {
    fn add(&mut self, name: &str, text: impl Into<String>, is_good: bool) {
        self.0.push(Case { name: name.to_owned(), text: text.into(), is_good });
    }

    fn good(&mut self, name: &str, text: impl Into<String>) {
        self.add(name, text, true);
    }

    fn bad(&mut self, name: &str, text: impl Into<String>) {
        self.add(name, text, false);
    }
}

/// A signed list in its parts: the text before the signature, the signature, and the text after it.
fn parts(file: &str) -> [&str; 3] {
    let start = file.find("<ds:Signature ").unwrap();
    let end = file.find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
    [&file[..start], &file[start..end], &file[end..]]
}

pub(super) fn corpus() -> Vec<Case> {
    let (signer, at) = (signer(), signed_at());
    let mut cases = Cases(Vec::new());
    for method in [EXCLUSIVE, INCLUSIVE] {
        for by_xpath in [true, false] {
            let with = XmlSigner { method, by_xpath, ..XmlSigner::of(&signer, &at) };
            let file = with.sign(&age_list().text());
            let kind = format!(
                "{} {}",
                if by_xpath { "xpath" } else { "enveloped" },
                if method == EXCLUSIVE { "exclusive" } else { "inclusive" }
            );
            dresses(&mut cases, &kind, &file);
            wrapped(&mut cases, &kind, &file);
            moved(&mut cases, &kind, &file);
            namespaces(&mut cases, &kind, &file, method);
        }
    }
    cases.0
}

/// Adds differences that a canonical form removes, and differences that it keeps.
fn dresses(cases: &mut Cases, kind: &str, file: &str) {
    cases.good(&format!("{kind}: as made"), file);
    cases.good(
        &format!("{kind}: comments"),
        format!(
            "<!--a-->{}<!--b-->",
            file.replace("><", "><!--c--><").replacen(
                "<ds:SignatureValue><!--c-->",
                "<ds:SignatureValue>",
                1
            )
        ),
    );
    cases.good(
        &format!("{kind}: white space in tags"),
        file.replace("></ds:DigestMethod>", "\n /  >".replace(' ', "").as_str())
            .replace("<Name xml", "<Name\t\n xml"),
    );
    cases.good(&format!("{kind}: single quotes"), file.replace('"', "'"));
    cases.good(
        &format!("{kind}: another order of attributes"),
        file.replace(
            &format!("xmlns=\"{LIST_NS}\" TSLTag=\"http://uri.etsi.org/19612/TSLTag\""),
            &format!("TSLTag=\"http://uri.etsi.org/19612/TSLTag\" xmlns=\"{LIST_NS}\""),
        ),
    );
    cases.good(&format!("{kind}: character references"), file.replace(">Ages<", ">&#65;&#x67;es<"));
    cases.good(&format!("{kind}: CDATA"), file.replace(">Ages<", "><![CDATA[Ag]]>es<"));
    cases.good(
        &format!("{kind}: line breaks in base64 of the signature"),
        file.replace("<ds:SignatureValue>", "<ds:SignatureValue>\n"),
    );
    cases.good(
        &format!("{kind}: declaration"),
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{file}\n"),
    );
    cases.bad(&format!("{kind}: white space in the list"), file.replacen("><", ">\n<", 1));
    cases.bad(&format!("{kind}: reformatted"), file.replace("><", ">\n<"));
    cases.bad(&format!("{kind}: escaped twice"), file.replace(">Ages<", ">Ages&amp;<"));
    cases.bad(&format!("{kind}: attribute more"), file.replace("TSLTag=", "a=\"b\" TSLTag="));
    cases.bad(
        &format!("{kind}: attribute less"),
        file.replace(" TSLTag=\"http://uri.etsi.org/19612/TSLTag\"", ""),
    );
}

/// Adds lists that contain the signed list somewhere, but have a different root.
fn wrapped(cases: &mut Cases, kind: &str, file: &str) {
    let [before, signature, after] = parts(file);
    let end = "</TrustServiceStatusList>";
    let original = format!("{before}{after}");
    let evil = evil_list();
    let body = evil.strip_suffix(end).unwrap();
    cases.bad(&format!("{kind}: signature in another list"), format!("{body}{signature}{end}"));
    let object = |inside: &str| {
        signature
            .replace("</ds:Signature>", &format!("<ds:Object>{inside}</ds:Object></ds:Signature>"))
    };
    cases.bad(&format!("{kind}: list in an Object"), format!("{body}{}{end}", object(&original)));
    cases.bad(&format!("{kind}: signed list in an Object"), format!("{body}{}{end}", object(file)));
    cases.bad(&format!("{kind}: signed list as a child"), format!("{body}{file}{end}"));
    cases.bad(
        &format!("{kind}: signed list before"),
        format!(
            "{}{file}{}",
            &body[..body.find("<SchemeInformation>").unwrap()],
            &body[body.find("<SchemeInformation>").unwrap()..]
        ),
    );
    cases.bad(
        &format!("{kind}: list before the signature"),
        format!("{body}{original}{signature}{end}"),
    );
    cases.bad(
        &format!("{kind}: list around"),
        format!("<TrustServiceStatusList xmlns=\"{LIST_NS}\">{file}{end}"),
    );
    cases.bad(&format!("{kind}: two roots"), format!("{evil}{file}"));
    cases.bad(&format!("{kind}: root after"), format!("{file}{evil}"));
    let hidden = format!(
        "<s:Signature xmlns:s=\"{DS_NS}\" xmlns=\"{LIST_NS}\">{}</s:Signature>",
        evil_provider()
    );
    cases.bad(
        &format!("{kind}: provider in a second signature"),
        file.replace(
            "</TrustServiceProviderList>",
            &format!("{hidden}</TrustServiceProviderList>"),
        ),
    );
    let within = format!(
        "<TrustServiceProviderList xmlns=\"{LIST_NS}\">{}</TrustServiceProviderList></ds:Signature>",
        evil_provider()
    );
    cases.bad(
        &format!("{kind}: providers in the signature"),
        file.replace("</ds:Signature>", &within),
    );
}

/// Adds lists with moved, repeated or missing parts.
fn moved(cases: &mut Cases, kind: &str, file: &str) {
    let [before, signature, after] = parts(file);
    let (head, tail) = before.split_at(before.find("<SchemeInformation>").unwrap());
    cases.good(&format!("{kind}: signature first"), format!("{head}{signature}{tail}{after}"));
    cases
        .bad(&format!("{kind}: signature twice"), format!("{before}{signature}{signature}{after}"));
    cases.bad(&format!("{kind}: signature left out"), format!("{before}{after}"));
    let start = before.find("<TrustServiceProviderList>").unwrap();
    let (scheme, providers) = before.split_at(start);
    cases.bad(
        &format!("{kind}: providers twice"),
        format!("{scheme}{providers}{providers}{signature}{after}"),
    );
    cases.bad(&format!("{kind}: providers left out"), format!("{scheme}{signature}{after}"));
    cases.bad(
        &format!("{kind}: providers before the scheme"),
        format!("{head}{providers}{}{signature}{after}", &scheme[head.len()..]),
    );
    cases.bad(
        &format!("{kind}: provider more"),
        file.replace(
            "</TrustServiceProviderList>",
            &format!("{}</TrustServiceProviderList>", evil_provider()),
        ),
    );
    cases.bad(
        &format!("{kind}: provider first"),
        file.replace(
            "<TrustServiceProviderList>",
            &format!("<TrustServiceProviderList>{}", evil_provider()),
        ),
    );
    let info_end = signature.find("</ds:SignedInfo>").unwrap() + "</ds:SignedInfo>".len();
    let info = &signature[signature.find("<ds:SignedInfo").unwrap()..info_end];
    cases.bad(&format!("{kind}: SignedInfo twice"), file.replace(info, &format!("{info}{info}")));
    let other = info.replace("URI=\"\"", "URI=\"#evil\"");
    cases.bad(
        &format!("{kind}: another SignedInfo first"),
        file.replace(info, &format!("{other}{info}")),
    );
    cases.bad(
        &format!("{kind}: another SignedInfo last"),
        file.replace(info, &format!("{info}{other}")),
    );
    let digest = info.find("<ds:DigestValue>").unwrap() + "<ds:DigestValue>".len();
    let own = &info[digest..digest + 44];
    cases.bad(
        &format!("{kind}: another digest"),
        file.replacen(own, &idgate_testkit::codec::base64_standard(&[7; 32]), 1),
    );
    for part in [4, 3, 2] {
        let cut = file.char_indices().nth(file.len() / part).unwrap().0;
        cases.bad(&format!("{kind}: cut at one {part}th"), &file[..cut]);
        cases.bad(&format!("{kind}: from one {part}th"), &file[cut..]);
    }
    cases.bad(
        &format!("{kind}: empty signature"),
        format!("{before}<ds:Signature xmlns:ds=\"{DS_NS}\"/>{after}"),
    );
    cases.bad(&format!("{kind}: signature of another namespace"), file.replace(DS_NS, "urn:other"));
}

/// Adds declarations of namespaces, which the inclusive form keeps and the exclusive one does not.
fn namespaces(cases: &mut Cases, kind: &str, file: &str, method: &str) {
    let is_exclusive = method == EXCLUSIVE;
    let unused = file.replacen(" TSLTag=", " xmlns:unused=\"urn:unused\" TSLTag=", 1);
    cases.add(&format!("{kind}: unused namespace on the root"), unused, is_exclusive);
    let inside = file.replacen(
        "<TrustServiceProviderList>",
        "<TrustServiceProviderList xmlns:unused=\"urn:unused\">",
        1,
    );
    cases.add(&format!("{kind}: unused namespace inside"), inside, is_exclusive);
    let again = file.replacen("<TSPServices>", &format!("<TSPServices xmlns=\"{LIST_NS}\">"), 1);
    cases.good(&format!("{kind}: namespace declared again"), again);
    cases.bad(
        &format!("{kind}: namespace taken back"),
        file.replacen("<TSPServices>", "<TSPServices xmlns=\"\">", 1),
    );
    cases.bad(
        &format!("{kind}: prefix instead of the default"),
        file.replacen("<TSPServices>", &format!("<p:TSPServices xmlns:p=\"{LIST_NS}\">"), 1)
            .replacen("</TSPServices>", "</p:TSPServices>", 1),
    );
    cases.bad(
        &format!("{kind}: prefix of the signature bound otherwise"),
        file.replacen("<ds:Transforms", "<ds:Transforms xmlns:ds=\"urn:other\"", 1),
    );
}

/// The file with one byte changed, left out or put in, in this order at each place.
pub(super) fn changes_of_one_byte(file: &str) -> impl Iterator<Item = (usize, String)> {
    let bytes = file.as_bytes();
    let at_each = move |at: usize| {
        let (before, after) = (&bytes[..at], &bytes[at + 1..]);
        let changed = [before, &[bytes[at] ^ 1], after].concat();
        let less = [before, after].concat();
        let more = [before, b"A", &bytes[at..]].concat();
        [changed, less, more].map(|text| (at, text))
    };
    let changes = (0..bytes.len()).flat_map(at_each);
    changes.filter_map(|(at, text)| Some((at, String::from_utf8(text).ok()?)))
}

fn names(list: &TrustedList) -> Vec<String> {
    list.providers.iter().map(|one| one.provider.name.clone()).collect()
}

#[test]
fn an_accepted_list_has_only_signed_content() {
    let cases = corpus();
    assert!(cases.len() > 150, "{}", cases.len());
    for Case { name, text, is_good } in &cases {
        match import(text) {
            Ok(list) => {
                assert!(is_good, "{name} was accepted");
                assert_eq!(names(&list), ["Ages"], "{name}");
                assert_eq!(list.providers[0].services[0].certificates.len(), 1, "{name}");
            }
            Err(why) => assert!(!is_good, "{name}: {why}"),
        }
    }
}

/// Changes, removes or inserts a byte anywhere. If the list is still accepted, its content is the
/// same.
#[test]
fn a_changed_byte_never_changes_accepted_content() {
    let file = age_list().sign(&signer());
    let good = import(&file).unwrap();
    for (at, text) in changes_of_one_byte(&file) {
        if let Ok(list) = import(&text) {
            assert_eq!(list.payload_sha256, good.payload_sha256, "{at}");
            assert_eq!(list.signer.sha256, good.signer.sha256, "{at}");
            assert_eq!(list.signer.signed_at, good.signer.signed_at, "{at}");
            assert_eq!(names(&list), ["Ages"], "{at}");
        }
    }
}
