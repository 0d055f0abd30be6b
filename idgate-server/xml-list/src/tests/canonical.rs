//! Canonical forms, with the examples of the recommendations.

use crate::canonical::Method::{self, Exclusive, Inclusive};
use crate::names::ns;

fn canonical(method: Method, text: &str) -> String {
    let document = crate::tree::parsed(text).unwrap();
    method.apply(document.root_element(), None).unwrap()
}

/// The canonical form of the element called `name`.
fn of_part(method: Method, text: &str, name: &str) -> String {
    let document = crate::tree::parsed(text).unwrap();
    let part = document.descendants().find(|one| one.tag_name().name() == name).unwrap();
    method.apply(part, None).unwrap()
}

#[track_caller]
fn assert_both(text: &str, expected: &str) {
    assert_eq!(canonical(Inclusive, text), expected);
    assert_eq!(canonical(Exclusive, text), expected);
}

/// Canonical XML 1.0, 3.1 and 3.2, without processing instructions.
#[test]
fn comments_are_removed_and_white_space_is_kept() {
    assert_both(
        "<?xml version=\"1.0\"?>\n<!-- before -->\n<doc>Hello,<!-- in --> world!\r\n  </doc>\n<!-- after -->",
        "<doc>Hello, world!\n  </doc>",
    );
}

/// Canonical XML 1.0, 3.3, without the attributes that its DTD adds.
#[test]
fn tags_and_attributes_have_one_form() {
    assert_both(
        "<doc><e1   /><e2   ></e2><e3   name = \"elem3\"   id=\"elem3\"   />\
         <e4 c='1' b:x='2' xmlns:b='urn:b' a:y='3' xmlns:a='urn:z' b='4'/></doc>",
        "<doc><e1></e1><e2></e2><e3 id=\"elem3\" name=\"elem3\"></e3>\
         <e4 xmlns:a=\"urn:z\" xmlns:b=\"urn:b\" b=\"4\" c=\"1\" b:x=\"2\" a:y=\"3\"></e4></doc>",
    );
}

/// Canonical XML 1.0, 3.4.
#[test]
fn characters_are_escaped_as_in_the_recommendation() {
    assert_both(
        "<doc><text>First line&#x0d;&#10;Second line</text><value>&#x32;</value>\
         <compute><![CDATA[value>\"0\" && value<\"10\" ?\"valid\":\"error\"]]></compute>\
         <compute expr='value>\"0\" &amp;&amp; value&lt;\"10\"'>valid</compute>\
         <norm attr=' &apos;   &#x20;&#13;&#xa;&#9;   &apos; '/></doc>",
        "<doc><text>First line&#xD;\nSecond line</text><value>2</value>\
         <compute>value&gt;\"0\" &amp;&amp; value&lt;\"10\" ?\"valid\":\"error\"</compute>\
         <compute expr=\"value>&quot;0&quot; &amp;&amp; value&lt;&quot;10&quot;\">valid</compute>\
         <norm attr=\" '    &#xD;&#xA;&#x9;   ' \"></norm></doc>",
    );
}

#[test]
fn white_space_in_a_value_is_a_space() {
    assert_both("<doc a='x\ty\nz\r\nw'/>", "<doc a=\"x y z w\"></doc>");
}

/// Exclusive XML Canonicalization 1.0, 2.2.
#[test]
fn a_part_has_all_namespaces_or_only_used_ones() {
    let text = "<n0:local xmlns:n0=\"foo:bar\" xmlns:n3=\"ftp://example.org\">\
                <n1:elem2 xmlns:n1=\"http://example.net\" xml:lang=\"en\">\
                <n3:stuff xmlns:n3=\"ftp://example.org\"/></n1:elem2></n0:local>";
    assert_eq!(
        of_part(Inclusive, text, "elem2"),
        "<n1:elem2 xmlns:n0=\"foo:bar\" xmlns:n1=\"http://example.net\" xmlns:n3=\"ftp://example.org\" \
         xml:lang=\"en\"><n3:stuff></n3:stuff></n1:elem2>"
    );
    assert_eq!(
        of_part(Exclusive, text, "elem2"),
        "<n1:elem2 xmlns:n1=\"http://example.net\" xml:lang=\"en\">\
         <n3:stuff xmlns:n3=\"ftp://example.org\"></n3:stuff></n1:elem2>"
    );
}

#[test]
fn the_default_namespace_is_undeclared_where_it_ends() {
    assert_both(
        "<a xmlns=\"urn:a\"><b xmlns=\"\"><c xmlns=\"\"/><d xmlns=\"urn:a\"/></b></a>",
        "<a xmlns=\"urn:a\"><b xmlns=\"\"><c></c><d xmlns=\"urn:a\"></d></b></a>",
    );
}

#[test]
fn a_prefix_may_be_bound_again() {
    assert_both(
        "<p:a xmlns:p=\"urn:1\"><p:b xmlns:p=\"urn:2\"/><p:c/></p:a>",
        "<p:a xmlns:p=\"urn:1\"><p:b xmlns:p=\"urn:2\"></p:b><p:c></p:c></p:a>",
    );
}

#[test]
fn an_inclusive_part_inherits_xml_attributes() {
    let text = "<a xml:lang=\"en\" xml:space=\"default\"><b xml:lang=\"fr\"><c xml:space=\"preserve\" a=\"1\"/></b></a>";
    assert_eq!(
        of_part(Inclusive, text, "c"),
        "<c a=\"1\" xml:lang=\"fr\" xml:space=\"preserve\"></c>"
    );
    assert_eq!(of_part(Exclusive, text, "c"), "<c a=\"1\" xml:space=\"preserve\"></c>");
}

#[test]
fn one_element_is_left_out_with_all_in_it() {
    let text = format!("<a> <s:S xmlns:s=\"{}\"><s:T/></s:S> <b/></a>", ns::DS);
    let document = crate::tree::parsed(&text).unwrap();
    let signature = document.descendants().find(|one| one.has_tag_name((ns::DS, "S"))).unwrap();
    let canonical = Exclusive.apply(document.root_element(), Some(signature.id())).unwrap();
    assert_eq!(canonical, "<a>  <b></b></a>");
}

#[test]
fn a_canonical_form_over_32_mib_is_refused() {
    let long = "u".repeat(1024 * 1024);
    let text = format!("<a xmlns:p=\"{long}\">{}</a>", "<p:b/>".repeat(40));
    let document = crate::tree::parsed(&text).unwrap();
    let refused = Exclusive.apply(document.root_element(), None).unwrap_err();
    assert!(refused.to_string().contains("more than 32 MiB"), "{refused}");
    assert!(Inclusive.apply(document.root_element(), None).is_ok());
}
