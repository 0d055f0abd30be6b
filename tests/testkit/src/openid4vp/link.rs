//! The link in a QR code: a request by value, or the address of one.

use serde_json::{Map, Value};
use url::Url;

use super::findings::Findings;
use crate::request::SCHEMES;
use crate::wallet::Body;

/// The nonce that this wallet sends when it fetches a request by POST (5.10).
pub const WALLET_NONCE: &str = "pTDXPKMSr8uVRzTl3-CsGg";

/// A parsed link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Link {
    /// The parameters themselves; JSON members are still text.
    ByValue(Map<String, Value>),
    /// The address of the Request Object.
    ByReference {
        /// The client that the answer is for.
        client_id: String,
        /// The address of the Request Object.
        request_uri: String,
        /// Whether the wallet may fetch it by POST.
        post: bool,
    },
}

impl Link {
    /// Reads a link. Missing parts are empty, and are findings.
    pub fn read(uri: &str) -> (Self, Findings) {
        let mut findings = Findings::default();
        let parameters = parameters(uri, &mut findings);
        let text = |name: &str| {
            parameters.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        findings.must("client_id", !text("client_id").is_empty(), "missing in the link");
        if !parameters.contains_key("request_uri") {
            return (Self::ByValue(parameters), findings);
        }
        let request_uri = text("request_uri");
        findings.must("request_uri_https", is_https(&request_uri), &request_uri);
        findings.must("request_uri_fragment", !request_uri.contains('#'), &request_uri);
        let method = parameters.get("request_uri_method").and_then(Value::as_str);
        let known = matches!(method, None | Some("get" | "post"));
        findings.must("request_uri_method", known, text("request_uri_method"));
        let own = ["client_id", "request_uri", "request_uri_method"];
        for name in parameters.keys() {
            findings.should("link_parameters", own.contains(&name.as_str()), name);
        }
        let client_id = text("client_id");
        let post = method == Some("post");
        (Self::ByReference { client_id, request_uri, post }, findings)
    }

    /// The form of a wallet that fetches the Request Object by POST.
    pub fn fetch_form(wallet_nonce: &str) -> Body {
        let metadata = r#"{"vp_formats_supported":{"dc+sd-jwt":{},"mso_mdoc":{}}}"#;
        Body::form(&Map::from_iter([
            (String::from("wallet_metadata"), metadata.into()),
            (String::from("wallet_nonce"), wallet_nonce.into()),
        ]))
    }
}

pub(super) fn is_https(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|uri| uri.scheme() == "https" && uri.host_str().is_some())
}

fn parameters(uri: &str, findings: &mut Findings) -> Map<String, Value> {
    let url = Url::parse(uri);
    let fits = |url: &Url| {
        SCHEMES.contains(&url.scheme()) && url.host_str().unwrap_or_default().is_empty()
    };
    findings.must("link_scheme", url.as_ref().is_ok_and(fits), "");
    let mut parameters = Map::new();
    for (name, value) in url.iter().flat_map(Url::query_pairs) {
        let before = parameters.insert(name.to_string(), value.into_owned().into());
        findings.must("link_repeats", before.is_none(), name);
    }
    parameters
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    const GOOD: &str =
        "haip-vp://?client_id=x509_hash%3Aabc&request_uri=https%3A%2F%2Fa.example%2Fr";

    #[test]
    fn a_reference_is_read_with_its_method() {
        let (link, findings) = Link::read(&format!("{GOOD}&request_uri_method=post"));
        assert!(findings.is_empty(), "{findings}");
        let expected = Link::ByReference {
            client_id: "x509_hash:abc".into(),
            request_uri: "https://a.example/r".into(),
            post: true,
        };
        assert_eq!(link, expected);
    }

    #[test]
    fn missing_parameters_of_a_link_are_found() {
        for (more, check) in [
            ("&request_uri_method=POST", "request_uri_method"),
            ("&nonce=n", "link_parameters"),
            ("&client_id=other", "link_repeats"),
        ] {
            let (_, findings) = Link::read(&format!("{GOOD}{more}"));
            assert_eq!(findings.checks(), [check]);
        }
        for (from, to, check) in [
            ("https", "http", "request_uri_https"),
            ("%2Fr", "%2Fr%23x", "request_uri_fragment"),
            ("haip-vp", "mdoc", "link_scheme"),
            ("x509_hash%3Aabc", "", "client_id"),
        ] {
            let (_, findings) = Link::read(&GOOD.replace(from, to));
            assert_eq!(findings.checks(), [check]);
        }
    }
}
