//! Refusals before any name is resolved.

use super::{age_list, assert_refused, import_trusted_list, signer};
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::ListRules;

#[track_caller]
fn assert_bytes_refused(file: &[u8], why: &str) {
    let refused = import_trusted_list(&PROVIDER, file, &ListRules::for_tests(), super::NOW);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn a_document_type_is_refused_and_so_is_every_entity() {
    let file = age_list().sign(&signer());
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]>";
    assert_refused(&format!("{bomb}{file}"), "has a document type declaration");
    assert_refused(&format!("<!DOCTYPE a SYSTEM \"file:///etc/passwd\">{file}"), "document type");
    assert_refused(&file.replace(">Ages<", ">&ages;<"), "is not well-formed XML");
}

#[test]
fn a_processing_instruction_is_refused() {
    let file = age_list().sign(&signer());
    for name in ["xml-stylesheet", "xmlfoo", "xml\u{a0}"] {
        let instruction = format!("<?{name} version=\"1.0\"?>{file}");
        assert_refused(&instruction, "a processing instruction");
    }
    assert_refused(
        &file.replace("<SchemeInformation>", "<?a b?><SchemeInformation>"),
        "a processing instruction",
    );
}

#[test]
fn another_encoding_or_version_is_refused() {
    let file = age_list().sign(&signer());
    for encoding in ["ISO-8859-1", "UTF-16", ""] {
        let declared = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{file}");
        assert_refused(&declared, "is XML that is not in UTF-8");
    }
    assert_refused(&format!("<?xml version=\"1.1\"?>{file}"), "of a version other than 1.0");
    assert_bytes_refused(b"<a>\xff</a>", "is XML that is not in UTF-8");
    let wide: Vec<u8> = file.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_bytes_refused(&[b"\xef\xbb\xbf<", &wide[..]].concat(), "");
}

#[test]
fn a_list_of_more_than_16_mib_is_refused() {
    let mut file = vec![b' '; 16 * 1024 * 1024 + 1];
    file[0] = b'<';
    assert_bytes_refused(&file, "is larger than 16 MiB");
}

#[test]
fn too_many_elements_attributes_or_namespaces_are_refused() {
    let deep = format!("{}{}", "<a>".repeat(41), "</a>".repeat(41));
    assert_bytes_refused(deep.as_bytes(), "more than 40 deep");
    let deep = format!("{}{}", "<a>".repeat(40), "</a>".repeat(40));
    assert_bytes_refused(deep.as_bytes(), "not a TrustServiceStatusList");
    let many = format!("<a>{}</a>", "<a/>".repeat(262_144));
    assert_bytes_refused(many.as_bytes(), "more than 524288 elements");
    let wide: String = (0..33).map(|n| format!(" a{n}=''")).collect();
    assert_bytes_refused(format!("<a{wide}/>").as_bytes(), "more than 32 attributes");
    let spaces =
        |from: u32| -> String { (from..from + 17).map(|n| format!(" xmlns:n{n}='u'")).collect() };
    let nested = format!("<a{}><a{}/></a>", spaces(0), spaces(17));
    assert_bytes_refused(nested.as_bytes(), "declares more than 32 namespaces");
    let beside = format!("<a><a{}/><a{}/></a>", spaces(0), spaces(17));
    assert_bytes_refused(beside.as_bytes(), "not a TrustServiceStatusList");
}

#[test]
fn a_namespace_of_more_than_256_bytes_is_refused() {
    let of = |len: usize| format!("<a xmlns:p=\"{}\"/>", "u".repeat(len));
    assert_bytes_refused(of(257).as_bytes(), "has a namespace of more than 256 bytes");
    assert_bytes_refused(of(256).as_bytes(), "not a TrustServiceStatusList");
    for name in ["xmlns", "xmlns:p", "\nxmlns:p\n"] {
        let file = format!("<a b='>' {name} = '{}'><p:b/></a>", "u".repeat(12 * 1024 * 1024));
        assert_bytes_refused(file.as_bytes(), "has a namespace of more than 256 bytes");
    }
}

#[test]
fn a_name_of_more_than_128_bytes_is_refused() {
    let (longest, longer) = ("n".repeat(128), "n".repeat(129));
    for name in [&longer, &format!("p:{}", "n".repeat(127))] {
        for file in [format!("<{name}/>"), format!("<a {name}=''/>"), format!("<a b=''{name}=''/>")]
        {
            assert_bytes_refused(file.as_bytes(), "has a name of more than 128 bytes");
        }
    }
    let file = format!("<a xmlns:{longer}='u'/>");
    assert_bytes_refused(file.as_bytes(), "has a name of more than 128 bytes");
    let file = format!("<a b='{longer}'><{longest} {longest}='{longer}'>{longer}</{longest}></a>");
    assert_bytes_refused(file.as_bytes(), "not a TrustServiceStatusList");
}

#[test]
fn a_text_with_more_than_1000000_equals_signs_is_refused() {
    let of = |count: usize| format!("<a>{}</a>", "=".repeat(count));
    assert_bytes_refused(of(1_000_001).as_bytes(), "has more than 1000000 = characters");
    assert_bytes_refused(of(1_000_000).as_bytes(), "not a TrustServiceStatusList");
}

#[test]
fn a_text_with_more_than_524288_less_than_signs_is_refused() {
    let of = |count: usize| format!("<a><!--{}--></a>", "<".repeat(count));
    assert_bytes_refused(of(524_286).as_bytes(), "has more than 524288 < characters");
    assert_bytes_refused(of(524_285).as_bytes(), "not a TrustServiceStatusList");
}

#[test]
fn a_canonical_form_of_more_than_32_mib_is_refused_even_at_its_last_text_or_value() {
    let file = age_list().sign(&signer());
    let text = format!("{}</TrustServiceStatusList>", ">".repeat(9 * 1024 * 1024));
    let value = format!("<a b='{}'/></TrustServiceStatusList>", "\"".repeat(6 * 1024 * 1024));
    for last in [text, value] {
        let changed = file.replace("</TrustServiceStatusList>", &last);
        assert_ne!(changed, file);
        assert_refused(&changed, "has a canonical form of more than 32 MiB");
    }
}

#[test]
fn malformed_xml_is_refused() {
    for text in [
        "<",
        "<a",
        "<a b='",
        "<a>",
        "<a></b>",
        "</a>",
        "<a/><a/>",
        "<a/>x",
        "<!-- ",
        "<![CDATA[",
        "<?xml ",
        "<a b='1' b='2'/>",
        "<p:a/>",
        "<a>&#0;</a>",
        "<a>&lt</a>",
        "<a><!--</a>",
        "< a/>",
    ] {
        assert_bytes_refused(text.as_bytes(), "XML");
    }
}

#[test]
fn a_reason_quotes_little_of_the_list() {
    let name = "n".repeat(10_000);
    let refused = super::import(&format!("<a></{name}>")).unwrap_err().to_string();
    assert!(refused.contains("is not well-formed XML"), "{refused}");
    assert!(refused.len() < 250, "{}", refused.len());
}

#[test]
fn another_document_is_refused() {
    assert_bytes_refused(b"<html>log in</html>", "is XML but not a TrustServiceStatusList");
    let other = age_list().sign(&signer()).replace("02231/v2#", "02231/v3#");
    assert_refused(&other, "not a TrustServiceStatusList");
}

#[test]
fn every_beginning_of_a_list_is_refused() {
    let file = age_list().sign(&signer());
    for len in 1..file.len() {
        let refused = super::import(&file[..len]);
        assert!(refused.is_err(), "{len}");
    }
}
