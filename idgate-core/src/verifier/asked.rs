//! A wallet's fetch of a Request Object (RFC 9101 5.2.3, OpenID4VP 5.10).

use alloc::borrow::Cow;

use crate::codec::form;
use crate::error::NotFetched;
use crate::limits::MAX_FETCH_FORM_BYTES;
use crate::request::RequestObjectJwt;
use crate::session::Transition;

/// A wallet's fetch of a Request Object: `GET` or `POST /v1/oid4vp/request/{to}`.
#[derive(Clone)]
#[allow(clippy::exhaustive_structs)] // named members cannot be confused, and a wallet sends no more
pub struct Asked<'a> {
    /// The last segment of the path that the wallet fetches: the id of a session or of an offer.
    pub to: &'a str,
    /// The wallet's own nonce, which the Request Object repeats (OpenID4VP 5.10).
    pub wallet_nonce: Option<Cow<'a, str>>,
}

/// Omits the nonce.
impl core::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Asked")
    }
}

/// A signed request for a wallet.
#[derive(Debug)]
#[must_use = "the wallet waits for its request"]
#[non_exhaustive]
pub struct RequestObject {
    /// The transition to commit before you reply; `None` after the first fetch. The first fetch
    /// makes the session PENDING; a later fetch changes nothing. If the commit loses a race, load
    /// the session and start over.
    pub transition: Option<Transition>,
    /// The Request Object itself.
    pub jwt: RequestObjectJwt,
}

const FORM: &str = "application/x-www-form-urlencoded";
const NOT_A_FORM: NotFetched = NotFetched::Malformed("the body is not a UTF-8 form");

impl<'a> Asked<'a> {
    /// A fetch by GET.
    pub const fn get(to: &'a str) -> Self {
        Self { to, wallet_nonce: None }
    }

    /// A fetch by POST, with the `Content-Type` header and the body: a form with at most one
    /// `wallet_nonce`. A `wallet_nonce` without a value counts as absent (RFC 6749 3.1).
    /// `wallet_metadata` and other parameters are ignored.
    ///
    /// # Errors
    /// The body is not such a form, or is too large.
    pub fn post(
        to: &'a str,
        content_type: Option<&str>,
        body: &'a [u8],
    ) -> Result<Self, NotFetched> {
        let media_type = content_type.and_then(|value| value.split(';').next());
        if !media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(FORM)) {
            let rule = "Content-Type must be application/x-www-form-urlencoded";
            return Err(NotFetched::Malformed(rule));
        }
        Ok(Self { to, wallet_nonce: wallet_nonce(body)? })
    }
}

fn wallet_nonce(body: &[u8]) -> Result<Option<Cow<'_, str>>, NotFetched> {
    if body.len() > MAX_FETCH_FORM_BYTES {
        return Err(NotFetched::TooLarge);
    }
    let text = core::str::from_utf8(body).map_err(|_| NOT_A_FORM)?;
    if text.ends_with(form::LINE_BREAKS) {
        return Err(NotFetched::Malformed(form::LINE_BREAK_BEHIND));
    }
    let mut found = None;
    for pair in form::pairs(text) {
        let (name, value) = pair.map_err(|_| NOT_A_FORM)?;
        if name == "wallet_nonce" && found.replace(value).is_some() {
            return Err(NotFetched::Malformed("wallet_nonce is given twice"));
        }
    }
    Ok(found.filter(|nonce| !nonce.is_empty()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn posted(body: &[u8]) -> Result<Asked<'_>, NotFetched> {
        Asked::post("ses_1", Some("application/x-www-form-urlencoded; charset=UTF-8"), body)
    }

    #[test]
    fn the_wallets_nonce_is_used_unchanged() {
        for (form, nonce) in [
            ("", None),
            ("wallet_nonce=", None),
            ("wallet_nonce=abc", Some("abc")),
            ("wallet_metadata=%7B%7D&wallet_nonce=a%2Bb+c&x=1&x=2", Some("a+b c")),
        ] {
            assert_eq!(posted(form.as_bytes()).unwrap().wallet_nonce.as_deref(), nonce, "{form}");
        }
    }

    #[test]
    fn a_second_nonce_and_a_body_that_is_not_a_form_are_refused() {
        for bad in [
            &b"wallet_nonce=a&wallet_nonce=a"[..],
            b"wallet_nonce=a&wallet%5Fnonce=b",
            b"wallet_nonce=%zz",
            b"wallet_nonce=%ff",
            b"wallet_nonce=\xff",
            b"wallet_nonce=a\r\n",
            b"\n",
        ] {
            assert!(matches!(posted(bad), Err(NotFetched::Malformed(_))), "{bad:?}");
        }
        let long = alloc::vec![b'a'; MAX_FETCH_FORM_BYTES + 1];
        assert_eq!(posted(&long).unwrap_err(), NotFetched::TooLarge);
        for content_type in [None, Some(""), Some("application/json")] {
            assert!(Asked::post("ses_1", content_type, b"").is_err(), "{content_type:?}");
        }
    }
}
