//! Refused signatures, with one test for each rule.

use idgate_core::shell::TrustedListErrorKind;
use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::{list_ca, list_signer_below};
use idgate_testkit::x509::Identity;
use idgate_testkit::xml_list::{DS_NS, EXCLUSIVE, INCLUSIVE, XmlSigner};

use super::{
    NOW, age_list, assert_not_authentic, assert_refused, import, import_with, signed_at, signer,
};

/// The age list. Its `SignedInfo` was changed by `edit` before it was signed.
fn edited(edit: impl Fn(String) -> String + 'static) -> String {
    let (signer, at) = (signer(), signed_at());
    XmlSigner::of(&signer, &at).editing(edit).sign(&age_list().text())
}

/// The age list with a replaced text in its `SignedInfo`.
fn replaced(from: &'static str, to: &'static str) -> String {
    edited(move |text| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

#[test]
fn a_list_without_a_signature_is_refused() {
    assert_not_authentic(&age_list().text(), "is not signed");
}

#[test]
fn a_second_signature_is_refused_wherever_it_is() {
    let file = age_list().sign(&signer());
    let second = format!("<s:Signature xmlns:s=\"{DS_NS}\"><evil/></s:Signature>");
    for place in
        ["</TSPServices>", "</ds:Object>", "</TrustServiceStatusList>", "<SchemeInformation>"]
    {
        let with = file.replacen(place, &format!("{second}{place}"), 1);
        assert_not_authentic(&with, "has more than one signature");
    }
}

#[test]
fn a_signature_that_is_not_directly_in_the_root_is_refused() {
    let file = age_list().sign(&signer());
    let (before, rest) = file.split_once("<ds:Signature ").unwrap();
    let (signature, end) = rest.split_once("</ds:Signature>").unwrap();
    let moved = format!(
        "{}<ds:Signature {signature}</ds:Signature></SchemeInformation>{end}",
        before.replace("</SchemeInformation>", "")
    );
    let moved = moved.replace(
        "</TrustServiceProviderList></TrustServiceStatusList>",
        "</TrustServiceStatusList>",
    );
    let moved = moved
        .replacen("<TrustServiceProviderList>", "", 1)
        .replace("</TrustServiceProviderList>", "");
    assert_not_authentic(&moved, "has a signature that is not directly in its root");
}

#[test]
fn content_that_was_changed_is_refused() {
    let file = age_list().sign(&signer());
    for (from, to) in [
        (">7<", ">8<"),
        (">Ages<", ">Eggs<"),
        ("granted", "withdrawn"),
        ("<TrustServiceProviderList>", "<TrustServiceProviderList> "),
        ("TSLTag=", "Id=\"a\" TSLTag="),
    ] {
        assert_not_authentic(&file.replacen(from, to, 1), "the digest of its list differs");
    }
}

#[test]
fn properties_that_were_changed_are_refused() {
    let file = age_list().sign(&signer());
    let at = format!("<xades:SigningTime>{}", signed_at());
    let other = file.replace(&at, "<xades:SigningTime>2026-11-21T12:00:00Z");
    assert_not_authentic(&other, "the digest of its signed properties differs");
}

#[test]
fn a_signature_of_another_key_or_of_other_bytes_is_refused() {
    let file = age_list().sign(&signer());
    let (before, rest) = file.split_once("<ds:SignatureValue>").unwrap();
    let (value, after) = rest.split_once('<').unwrap();
    let first = if value.starts_with('A') { "B" } else { "A" };
    let other = format!("{before}<ds:SignatureValue>{first}{}<{after}", &value[1..]);
    assert_not_authentic(&other, "has a signature that does not verify");
    let none = format!("{before}<ds:SignatureValue><{after}");
    assert_not_authentic(&none, "has a signature that does not verify");
    let text = format!("{before}<ds:SignatureValue>&amp;<{after}");
    assert_not_authentic(&text, "SignatureValue that is not in base64");
    let (signer, at, stranger) = (signer(), signed_at(), Identity::iaca(Curve::P256, NOW.0));
    let key = stranger.key.clone();
    let with =
        XmlSigner { make: Box::new(move |input| key.sign(input)), ..XmlSigner::of(&signer, &at) };
    assert_not_authentic(&with.sign(&age_list().text()), "has a signature that does not verify");
}

#[test]
fn a_signed_info_that_was_changed_is_refused() {
    let file = age_list().sign(&signer());
    let other = file.replace("<ds:Reference Id=\"r\"", "<ds:Reference Id=\"q\"");
    assert_not_authentic(&other, "has a signature that does not verify");
}

#[test]
fn a_comment_in_a_text_of_the_signature_is_refused() {
    let file = age_list().sign(&signer());
    let (before, rest) = file.split_once("<ds:SignatureValue>").unwrap();
    let commented = format!("{before}<ds:SignatureValue>{}<!-- -->{}", &rest[..8], &rest[8..]);
    assert_not_authentic(&commented, "SignatureValue that is not in base64");
}

#[test]
fn a_text_is_read_across_comments_as_it_was_digested() {
    let file = age_list().sign(&signer());
    let commented =
        file.replace(">Ages<", ">A<!-- not -->ges<").replace(">7<", "><!--1-->7<!--2--><");
    let list = import(&commented).unwrap();
    assert_eq!((list.sequence, list.providers[0].provider.name.as_str()), (7, "Ages"));
}

#[test]
fn a_reference_to_anything_but_the_whole_list_is_refused() {
    for (from, to) in [
        ("URI=\"\"", "URI=\"#sig\""),
        ("URI=\"\"", "URI=\"http://example.com/list.xml\""),
        (" URI=\"\"", ""),
        ("URI=\"\"", "URI=\"#xpointer(/)\""),
    ] {
        assert_not_authentic(&replaced(from, to), "whose first reference is not to the whole list");
    }
}

#[test]
fn a_second_reference_that_is_not_to_the_properties_is_refused() {
    let why = "over more than the list and its properties";
    assert_not_authentic(&replaced("http://uri.etsi.org/01903#SignedProperties", "urn:other"), why);
    assert_not_authentic(&replaced("URI=\"#xades-sig\"", "URI=\"\""), why);
    assert_not_authentic(&replaced("URI=\"#xades-sig\"", "URI=\"#\""), why);
    let third = edited(|text| {
        let reference = "<ds:Reference URI=\"http://example.com\"></ds:Reference></ds:SignedInfo>";
        text.replace("</ds:SignedInfo>", reference)
    });
    assert_not_authentic(&third, why);
    let manifest = edited(|text| {
        text.replace("</ds:SignedInfo>", "<ds:Manifest></ds:Manifest></ds:SignedInfo>")
    });
    assert_not_authentic(&manifest, why);
}

#[test]
fn other_properties_than_those_in_the_signature_are_refused() {
    assert_not_authentic(&replaced("#xades-sig", "#sig"), "signed with other properties");
    let file = age_list().sign(&signer());
    let (before, rest) = file.split_once("<ds:Object>").unwrap();
    let (object, after) = rest.split_once("</ds:Object>").unwrap();
    assert_not_authentic(&format!("{before}{after}"), "no SignedProperties in its signature");
    let twice =
        format!("{before}<ds:Object>{object}</ds:Object><ds:Object>{object}</ds:Object>{after}");
    assert_not_authentic(&twice, "no SignedProperties in its signature, or several");
}

#[test]
fn a_second_element_with_the_identifier_of_the_properties_is_refused() {
    let file = age_list().sign(&signer());
    for id in ["Id", "ID", "id", "xml:id"] {
        let fake =
            format!("<ds:Object><e xmlns=\"\" {id}=\"xades-sig\"/></ds:Object></ds:Signature>");
        let with = file.replace("</ds:Signature>", &fake);
        assert_not_authentic(&with, "has two elements with the identifier");
    }
}

#[test]
fn transforms_other_than_the_two_are_refused() {
    let unread = "with a transform that is not supported";
    for (from, to) in [
        ("Filter=\"subtract\"", "Filter=\"intersect\""),
        ("Filter=\"subtract\"", "Filter=\"union\""),
        ("/descendant::ds:Signature", "/descendant::ds:Signature | //x"),
        ("/descendant::ds:Signature", "/descendant::f:Signature"),
        ("/descendant::ds:Signature", "/descendant::Signature"),
        ("/descendant::ds:Signature", "//*"),
        (
            "http://www.w3.org/2002/06/xmldsig-filter2\"><",
            "http://www.w3.org/TR/1999/REC-xslt-19991116\"><",
        ),
        (
            "http://www.w3.org/2002/06/xmldsig-filter2\"><",
            "http://www.w3.org/TR/1999/REC-xpath-19991116\"><",
        ),
        (
            "http://www.w3.org/2002/06/xmldsig-filter2\"><",
            "http://www.w3.org/2000/09/xmldsig#base64\"><",
        ),
    ] {
        assert_not_authentic(&replaced(from, to), unread);
    }
    let twice = edited(|text| {
        let again = "Filter=\"subtract\">/descendant::ds:Signature</f:XPath>";
        let second = format!(
            "{again}<f:XPath xmlns:f=\"http://www.w3.org/2002/06/xmldsig-filter2\" {again}"
        );
        text.replace(again, &second)
    });
    assert_not_authentic(&twice, unread);
    let count = "is not signed with two transforms";
    assert_not_authentic(
        &replaced(
            "<ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/2002/06/xmldsig-filter2\">",
            "<ds:Transforms><ds:Transform Algorithm=\"urn:x\"></ds:Transform><ds:Transform Algorithm=\"http://www.w3.org/2002/06/xmldsig-filter2\">",
        ),
        count,
    );
    let none = edited(|text| {
        let (before, rest) = text.split_once("<ds:Transforms>").unwrap();
        let (_, after) = rest.split_once("</ds:Transforms>").unwrap();
        format!("{before}{after}")
    });
    assert_not_authentic(&none, count);
}

#[test]
fn other_canonical_forms_are_refused() {
    let why = "in a canonical form other than";
    for (from, to) in [
        (
            "CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#",
            "CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
        ),
        (
            "Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#",
            "Transform Algorithm=\"http://www.w3.org/2006/12/xml-c14n11",
        ),
        (
            "CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#",
            "CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments",
        ),
        (
            "</ds:CanonicalizationMethod>",
            "<p xmlns=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"a\"></p></ds:CanonicalizationMethod>",
        ),
    ] {
        assert_not_authentic(&replaced(from, to), why);
    }
}

#[test]
fn weak_and_unknown_algorithms_are_refused() {
    let (signer, at) = (signer(), signed_at());
    for algorithm in [
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#dsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
        "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha1",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-md5",
        "http://www.w3.org/2007/05/xmldsig-more#sha1-rsa-MGF1",
        "",
    ] {
        let with = XmlSigner { algorithm: algorithm.into(), ..XmlSigner::of(&signer, &at) };
        assert_not_authentic(
            &with.sign(&age_list().text()),
            "with an algorithm other than RSA and ECDSA",
        );
    }
    for digest in
        ["http://www.w3.org/2000/09/xmldsig#sha1", "http://www.w3.org/2001/04/xmldsig-more#md5"]
    {
        let weak =
            edited(move |text| text.replacen("http://www.w3.org/2001/04/xmlenc#sha256", digest, 1));
        assert_not_authentic(&weak, "digested with a hash other than SHA-256");
    }
}

#[test]
fn an_algorithm_of_another_key_is_refused() {
    let (signer, at) = (signer(), signed_at());
    for algorithm in ["rsa-sha256", "ecdsa-sha384", "ecdsa-sha512"] {
        let algorithm = format!("http://www.w3.org/2001/04/xmldsig-more#{algorithm}");
        let with = XmlSigner { algorithm, ..XmlSigner::of(&signer, &at) };
        assert_not_authentic(&with.sign(&age_list().text()), "that does not fit its signer's key");
    }
}

#[test]
fn parts_of_a_signature_in_another_order_are_refused() {
    let file = age_list().sign(&signer());
    let why = "SignedInfo, SignatureValue, KeyInfo and Objects, in this order";
    let (before, rest) = file.split_once("<ds:SignedInfo").unwrap();
    let (info, after) = rest.split_once("</ds:SignedInfo>").unwrap();
    let info = format!("<ds:SignedInfo{info}</ds:SignedInfo>");
    assert_not_authentic(&format!("{before}{info}{info}{after}"), why);
    assert_not_authentic(&format!("{before}{after}"), why);
    let late = after.replace("</ds:SignatureValue>", &format!("</ds:SignatureValue>{info}"));
    assert_not_authentic(&format!("{before}{late}"), why);
    let within = format!("{before}<ds:Object>{info}</ds:Object>{after}");
    assert_not_authentic(&within, why);
}

#[test]
fn parts_of_a_signed_info_in_another_order_are_refused() {
    let why = "has a SignedInfo without a";
    let swapped = edited(|text| {
        let (before, rest) = text.split_once("<ds:SignatureMethod").unwrap();
        let (own, after) = rest.split_once("</ds:SignatureMethod>").unwrap();
        let after = after.replace(
            "</ds:SignedInfo>",
            &format!("<ds:SignatureMethod{own}</ds:SignatureMethod></ds:SignedInfo>"),
        );
        format!("{before}{after}")
    });
    assert_not_authentic(&swapped, why);
    let none = edited(|text| {
        let (before, rest) = text.split_once("<ds:Reference").unwrap();
        let (_, after) = rest.split_once("</ds:Reference><ds:Reference").unwrap();
        let (_, after) = after.split_once("</ds:Reference>").unwrap();
        format!("{before}{after}")
    });
    assert_not_authentic(&none, why);
}

#[test]
fn a_list_that_does_not_say_when_it_was_signed_is_refused() {
    let signer = signer();
    let with = XmlSigner { signed_at: None, ..XmlSigner::of(&signer, "") };
    assert_not_authentic(
        &with.sign(&age_list().text()),
        "does not say when it was signed (SigningTime)",
    );
    for at in ["yesterday", "2026-11-21", "2026-11-21T00:00:00", ""] {
        let with = XmlSigner::of(&signer, at);
        assert_not_authentic(
            &with.sign(&age_list().text()),
            "SigningTime that is not a date and time",
        );
    }
}

#[test]
fn a_list_signed_before_it_was_issued_or_in_the_future_is_refused() {
    let signer = signer();
    let early = XmlSigner::of(&signer, "2026-11-20T23:54:00Z");
    assert_not_authentic(&early.sign(&age_list().text()), "was signed before it was issued");
    let late = XmlSigner::of(&signer, "2026-11-22T00:06:00Z");
    assert_refused(&late.sign(&age_list().text()), "is dated in the future");
}

#[test]
fn a_certificate_other_than_the_signed_one_is_refused() {
    let (signer, at, other) = (signer(), signed_at(), Identity::iaca(Curve::P256, NOW.0));
    let with = XmlSigner { named: Some(other.der.clone()), ..XmlSigner::of(&signer, &at) };
    assert_not_authentic(&with.sign(&age_list().text()), "names another signer's certificate");
    let weak = XmlSigner::of(&signer, &at).sign(&age_list().text());
    let weak = weak.replace(
        "http://www.w3.org/2001/04/xmlenc#sha512",
        "http://www.w3.org/2000/09/xmldsig#sha1",
    );
    assert_not_authentic(&weak, "the digest of its signed properties differs");
}

#[test]
fn a_signer_that_is_neither_an_anchor_nor_below_one_is_refused() {
    let ca = list_ca(NOW.0);
    let below = list_signer_below(&ca, "Example Operator", NOW.0);
    let refused = import(&age_list().sign(&below)).unwrap_err();
    assert_eq!(refused.kind, TrustedListErrorKind::UnknownSigner, "{refused}");
    let by_ca = XmlSigner::of(&ca, &signed_at()).sign(&age_list().text());
    let refused = import_with(&by_ca, &ca.der).unwrap_err();
    assert!(refused.to_string().contains("has a signer that is a CA"), "{refused}");
}

#[test]
fn below_a_ca_the_organization_is_the_operators_and_the_country_is_not_compared() {
    let ca = list_ca(NOW.0);
    let below = list_signer_below(&ca, "Example Operator", NOW.0);
    let mut list = age_list();
    list.territory = "UT".into();
    assert!(import_with(&list.sign(&below), &ca.der).is_ok());
    let other = list_signer_below(&ca, "Another customer", NOW.0);
    let refused = import_with(&list.sign(&other), &ca.der).unwrap_err();
    assert!(refused.to_string().contains("of another organization than its operator"), "{refused}");
}

#[test]
fn more_than_ten_certificates_or_one_that_cannot_be_read_are_refused() {
    let (signer, at) = (signer(), signed_at());
    let many = XmlSigner { chain: vec![signer.der.clone(); 11], ..XmlSigner::of(&signer, &at) };
    assert_not_authentic(&many.sign(&age_list().text()), "more than 10 certificates");
    let unread = XmlSigner { chain: vec![vec![1, 2]], named: None, ..XmlSigner::of(&signer, &at) };
    assert_not_authentic(&unread.sign(&age_list().text()), "whose certificate cannot be read");
}

/// `SignedInfo` and the references may have different canonicalization methods.
#[test]
fn each_reference_has_its_own_canonical_form() {
    // The canonical forms of a list without prefixes are the same.
    let mixed = edited(|text| {
        let to = format!("</f:XPath></ds:Transform><ds:Transform Algorithm=\"{INCLUSIVE}\">");
        text.replacen(
            &format!("</f:XPath></ds:Transform><ds:Transform Algorithm=\"{EXCLUSIVE}\">"),
            &to,
            1,
        )
    });
    assert!(import(&mixed).is_ok());
}
