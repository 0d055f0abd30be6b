//! JOSE headers of signed tokens (RFC 7515 4). Keys in a header, or that it points to (`jwk`,
//! `jku`, `x5u`), are not read: trusted keys and roots decide. `x5c` has its own file; it counts
//! only through the roots and certificates of a trust entry.

use core::fmt;

use crate::codec::json::{Text, Value};
use crate::crypto::Alg;

/// The header members that verification uses.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub(crate) struct Header<'a> {
    /// `alg` as the token claims it (RFC 7515 4.1.1).
    pub(crate) alg: Text<'a>,
    /// `typ` (RFC 7515 4.1.9)
    pub(crate) typ: Option<Text<'a>>,
    /// `kid` (RFC 7515 4.1.4)
    pub(crate) kid: Option<Text<'a>>,
}

/// A header that cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub(crate) enum HeaderError {
    /// Not an object, `alg` is missing, or `alg`, `typ` or `kid` is not a string.
    Malformed,
    /// It requires an extension by `crit` or `b64`; none is supported (RFC 7515 4.1.11, RFC 7797
    /// 3).
    UnknownCritical,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the JOSE header is not an object with alg, typ and kid as strings",
            Self::UnknownCritical => "the JOSE header demands an extension that is not supported",
        })
    }
}

impl core::error::Error for HeaderError {}

impl<'a> Header<'a> {
    /// Reads the header from its JSON object. Unused members are ignored.
    ///
    /// # Errors
    /// The header is malformed, or requires an extension.
    pub(crate) fn from_json(value: Value<'_, 'a>) -> Result<Self, HeaderError> {
        let (mut alg, mut typ, mut kid) = (None, None, None);
        for (name, value) in value.members().ok_or(HeaderError::Malformed)? {
            if name.is("crit") || name.is("b64") {
                return Err(HeaderError::UnknownCritical);
            }
            for (known, slot) in [("alg", &mut alg), ("typ", &mut typ), ("kid", &mut kid)] {
                if name.is(known) {
                    *slot = Some(value.as_text().ok_or(HeaderError::Malformed)?);
                }
            }
        }
        Ok(Self { alg: alg.ok_or(HeaderError::Malformed)?, typ, kid })
    }

    /// The algorithm that the token claims, if it is known. Compare it with the trusted key's, and
    /// never choose by it.
    pub(crate) fn alg(&self) -> Option<Alg> {
        Alg::ALL.into_iter().find(|alg| self.alg.is(alg.name()))
    }

    /// Whether `typ` is present and one of `expected`, compared like [`typ_is`].
    pub(crate) fn has_typ(&self, expected: &[&str]) -> bool {
        self.typ.is_some_and(|typ| typ_is(&typ.unescape(), expected))
    }
}

/// Whether a `typ` is one of `expected`. Media types are case-insensitive, and `application/` may
/// precede a name without a slash (RFC 7515 4.1.9).
pub(crate) fn typ_is(text: &str, expected: &[&str]) -> bool {
    const PREFIX: &str = "application/";
    let name = match text.split_at_checked(PREFIX.len()) {
        Some((prefix, name)) if prefix.eq_ignore_ascii_case(PREFIX) => name,
        _ => text,
    };
    expected.iter().any(|expected| name.eq_ignore_ascii_case(expected))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::codec::json::Tape;

    fn read<T>(text: &str, look: impl Fn(Result<Header<'_>, HeaderError>) -> T) -> T {
        let mut tape = Tape::default();
        let id = tape.parse(text.as_bytes()).unwrap();
        look(Header::from_json(tape.value(id)))
    }

    fn error(text: &str) -> Option<HeaderError> {
        read(text, |header| header.err())
    }

    fn alg(text: &str) -> Option<Alg> {
        read(text, |header| header.unwrap().alg())
    }

    #[test]
    fn reads_alg_typ_and_kid() {
        read(r#"{"alg":"ES384","typ":"dc+sd-jwt","kid":"k","cty":1,"x":{}}"#, |header| {
            let header = header.unwrap();
            assert_eq!(header.alg(), Some(Alg::Es384));
            assert!(header.typ.unwrap().is("dc+sd-jwt"));
            assert!(header.kid.unwrap().is("k"));
        });
        read(r#"{"alg":"ES256"}"#, |header| {
            let header = header.unwrap();
            assert!(header.typ.is_none() && header.kid.is_none());
            assert!(!header.has_typ(&["jwt", ""]));
        });
    }

    #[test]
    fn other_algorithms_are_unknown() {
        for name in [
            "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS256", "PS256",
            "EdDSA", "Ed25519", "ES256K", "es256", "ES256 ", "ECDH-ES",
        ] {
            assert_eq!(alg(&format!(r#"{{"alg":"{name}"}}"#)), None, "{name}");
        }
        assert_eq!(alg(r#"{"alg":"ES\u0032\u0035\u0036"}"#), Some(Alg::Es256));
    }

    #[test]
    fn refuses_critical_extensions() {
        for crit in [r#"["exp"]"#, r#"["b64"]"#, "[]", "null", r#""exp""#, "{}"] {
            let text = format!(r#"{{"alg":"ES256","crit":{crit}}}"#);
            assert_eq!(error(&text), Some(HeaderError::UnknownCritical), "{crit}");
        }
        assert_eq!(error(r#"{"crit":[]}"#), Some(HeaderError::UnknownCritical));
        assert_eq!(error(r#"{"alg":"ES256","c\u0072it":[]}"#), Some(HeaderError::UnknownCritical));
    }

    #[test]
    fn refuses_unencoded_payloads() {
        for b64 in ["false", "true", "null"] {
            let text = format!(r#"{{"alg":"ES256","b64":{b64}}}"#);
            assert_eq!(error(&text), Some(HeaderError::UnknownCritical), "{b64}");
        }
    }

    #[test]
    fn refuses_a_header_without_alg() {
        for text in ["{}", r#"{"Alg":"ES256"}"#, r#"{"typ":"jwt"}"#] {
            assert_eq!(error(text), Some(HeaderError::Malformed), "{text}");
        }
    }

    #[test]
    fn refuses_members_of_another_type() {
        for name in ["alg", "typ", "kid"] {
            for value in ["null", "1", "true", r#"["ES256"]"#, "{}"] {
                let (first, rest) = if name == "alg" { ("typ", "jwt") } else { ("alg", "ES256") };
                let text = format!(r#"{{"{first}":"{rest}","{name}":{value}}}"#);
                assert_eq!(error(&text), Some(HeaderError::Malformed), "{text}");
            }
        }
        for text in ["[]", "null", r#""ES256""#, "1"] {
            assert_eq!(error(text), Some(HeaderError::Malformed), "{text}");
        }
    }

    #[test]
    fn ignores_keys_in_the_header() {
        let text = r#"{"jwk":{"kty":"EC"},"jku":"https://a","x5u":1,"x5c":[],"alg":"ES256"}"#;
        assert_eq!(alg(text), Some(Alg::Es256));
    }

    #[test]
    fn keeps_a_hostile_kid_unchanged() {
        let long = "k".repeat(64 << 10);
        for kid in [r#"'\"; --"#, r"\u0000", "../../etc/passwd", "https://a/key", &long] {
            let text = format!(r#"{{"alg":"ES256","kid":"{kid}"}}"#);
            read(&text, |header| assert_eq!(header.unwrap().kid.unwrap().source(), kid));
        }
    }

    #[test]
    fn compares_typ_as_a_media_type() {
        let expected = &["vc+sd-jwt", "dc+sd-jwt"];
        for typ in ["dc+sd-jwt", "VC+SD-JWT", "application/dc+sd-jwt", "Application/dc+SD-jwt"] {
            assert!(typ_is(typ, expected), "{typ}");
        }
        for typ in [
            "",
            "jwt",
            "kb+jwt",
            "dc+sd-jwt ",
            " dc+sd-jwt",
            "dc+sd-jwtx",
            "application/",
            "application/application/dc+sd-jwt",
            "text/dc+sd-jwt",
            "/dc+sd-jwt",
            "éééééé",
        ] {
            assert!(!typ_is(typ, expected), "{typ}");
        }
        read(r#"{"alg":"ES256","typ":"kb\u002bjwt"}"#, |header| {
            assert!(header.unwrap().has_typ(&["kb+jwt"]));
        });
    }
}
