//! JSON Web Keys of kind EC (RFC 7517, RFC 7518 6.2) that verify signatures, and their thumbprints
//! (RFC 7638).
//!
//! Only public keys are read: a private member is refused, so that a leaked key is noticed and not
//! used. `alg`, `use` and `key_ops` may be absent; if present they must allow verification with the
//! algorithm of the curve. Other members are ignored (RFC 7517 4).

use alloc::string::String;
use core::fmt;

use serde::Serialize;

use crate::codec::base64url;
use crate::codec::json::{Tape, Text, Value, json_text};
use crate::crypto::key::{Curve, PublicKey};
use crate::crypto::provider::CryptoProvider;

/// A public EC key with the members that select it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Jwk {
    /// The key.
    pub key: PublicKey,
    /// `kid`
    pub kid: Option<String>,
}

/// A JWK that cannot be used; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct JwkError(pub &'static str);

impl fmt::Display for JwkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the JWK {}", self.0)
    }
}

impl core::error::Error for JwkError {}

const NOT_JSON: JwkError = JwkError("is not strict JSON");
const NOT_OBJECT: JwkError = JwkError("is not a JSON object");
const NOT_EC: JwkError = JwkError("has no kty EC");
const PRIVATE: JwkError = JwkError("carries a private or symmetric key; give its public half");
const BAD_CURVE: JwkError = JwkError("has no crv P-256, P-384 or P-521");
const BAD_X: JwkError = JwkError("has no x of the curve's length in unpadded base64url");
const BAD_Y: JwkError = JwkError("has no y of the curve's length in unpadded base64url");
const BAD_KID: JwkError = JwkError("has a kid that is not a string");
const BAD_ALG: JwkError = JwkError("has an alg that does not fit its crv");
const BAD_USE: JwkError = JwkError("has a use other than sig");
const BAD_KEY_OPS: JwkError = JwkError("has key_ops without verify");

/// The private members of every kind of key (RFC 7518 6.2.2, 6.3.2, 6.4.1).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

impl Jwk {
    /// Reads a public key from a JSON object.
    ///
    /// # Errors
    /// The value is not a public EC key on a known curve, has a private member, or its `alg`, `use`
    /// or `key_ops` do not allow verification.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_json(value: Value<'_, '_>) -> Result<Self, JwkError> {
        let key = PublicKey::from_signing_jwk(value)?;
        let kid = value.get("kid").map(|kid| kid.as_str().ok_or(BAD_KID)).transpose()?;
        Ok(Self { key, kid: kid.map(|kid| kid.into_owned()) })
    }

    /// Reads a public key from JSON text.
    ///
    /// # Errors
    /// Those of [`Jwk::from_json`].
    pub fn parse(text: &[u8]) -> Result<Self, JwkError> {
        let mut tape = Tape::default();
        let id = tape.parse(text).map_err(|_| NOT_JSON)?;
        Self::from_json(tape.value(id))
    }
}

impl PublicKey {
    /// Reads the key of a JWK that verifies signatures, by the same rule for issuers and holders.
    ///
    /// # Errors
    /// Those of [`PublicKey::from_jwk`], or `alg`, `use` or `key_ops` do not allow verification.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_signing_jwk(value: Value<'_, '_>) -> Result<Self, JwkError> {
        let key = Self::from_jwk(value)?;
        check_purpose(value, key.curve())?;
        Ok(key)
    }

    /// Reads the key of a JWK without checking its use, where the context gives the purpose.
    ///
    /// # Errors
    /// The value is not a public EC key on a known curve, or has a private member.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_jwk(value: Value<'_, '_>) -> Result<Self, JwkError> {
        let members = value.members().ok_or(NOT_OBJECT)?;
        if members.map(|(name, _)| name).any(|name| PRIVATE_MEMBERS.iter().any(|m| name.is(m))) {
            return Err(PRIVATE);
        }
        Self::from_public_members(value)
    }

    /// Reads the public half of a JWK that may have private members, for a caller that holds the
    /// private half.
    pub(crate) fn from_public_members(value: Value<'_, '_>) -> Result<Self, JwkError> {
        text(value, "kty").filter(|kty| kty.is("EC")).ok_or(NOT_EC)?;
        let crv = text(value, "crv").ok_or(BAD_CURVE)?;
        let curve = Curve::from_name(&crv.unescape()).ok_or(BAD_CURVE)?;
        public_key(value, curve)
    }

    /// Returns the key as a JWK with its required members in lexicographic order, and with `kid` if
    /// given.
    pub fn to_jwk_json(&self, kid: Option<&str>) -> String {
        #[derive(Serialize)]
        struct Members<'a> {
            crv: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            kid: Option<&'a str>,
            kty: &'a str,
            x: &'a str,
            y: &'a str,
        }
        let (x, y) = self.coordinates();
        let (x, y) = (&base64url::encode(x), &base64url::encode(y));
        let members = Members { crv: self.curve().name(), kid, kty: "EC", x, y };
        json_text(&members)
    }

    /// The SHA-256 thumbprint (RFC 7638 3).
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn thumbprint(&self, provider: &CryptoProvider) -> [u8; 32] {
        provider.sha256(self.to_jwk_json(None).as_bytes())
    }
}

/// The public members of an EC key (RFC 7518 6.2.1).
#[derive(Serialize)]
pub(crate) struct EcKey {
    kty: &'static str,
    crv: &'static str,
    x: String,
    y: String,
}

impl EcKey {
    pub(crate) fn new(key: &PublicKey) -> Self {
        let (x, y) = key.coordinates();
        let (x, y) = (base64url::encode(x), base64url::encode(y));
        Self { kty: "EC", crv: key.curve().name(), x, y }
    }
}

fn text<'a>(value: Value<'_, 'a>, name: &str) -> Option<Text<'a>> {
    value.get(name)?.as_text()
}

/// `use`, `key_ops` and `alg` each allow verification where present (RFC 7517 4.2, 4.3, 4.4).
fn check_purpose(value: Value<'_, '_>, curve: Curve) -> Result<(), JwkError> {
    let is = |value: Value<'_, '_>, name: &str| value.as_text().is_some_and(|text| text.is(name));
    if value.get("use").is_some_and(|used_for| !is(used_for, "sig")) {
        return Err(BAD_USE);
    }
    let verifies =
        |ops: Value<'_, '_>| ops.elements().is_some_and(|mut o| o.any(|op| is(op, "verify")));
    if value.get("key_ops").is_some_and(|ops| !verifies(ops)) {
        return Err(BAD_KEY_OPS);
    }
    if value.get("alg").is_some_and(|alg| !is(alg, curve.alg().name())) {
        return Err(BAD_ALG);
    }
    Ok(())
}

/// `x` and `y`, decoded on the stack. Leading zeros are part of them (RFC 7518 6.2.1.2).
fn public_key(value: Value<'_, '_>, curve: Curve) -> Result<PublicKey, JwkError> {
    let (mut x, mut y) = ([0; 66], [0; 66]);
    let x = coordinate(value, "x", &mut x).ok_or(BAD_X)?;
    let y = coordinate(value, "y", &mut y).ok_or(BAD_Y)?;
    if x.len() != curve.coordinate_len() {
        return Err(BAD_X);
    }
    PublicKey::from_coordinates(curve, x, y).map_err(|_| BAD_Y)
}

fn coordinate<'o>(value: Value<'_, '_>, name: &str, out: &'o mut [u8; 66]) -> Option<&'o [u8]> {
    base64url::decode_into(&text(value, name)?.unescape(), out).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use alloc::format;

    use super::*;

    const X: &str = "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4";
    const Y: &str = "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM";

    /// The public key of RFC 7517 A.1 with these members before it.
    fn with(members: &str) -> Result<Jwk, JwkError> {
        let text = format!(r#"{{{members}"kty":"EC","crv":"P-256","x":"{X}","y":"{Y}"}}"#);
        Jwk::parse(text.as_bytes())
    }

    fn error(text: &str) -> JwkError {
        match Jwk::parse(text.as_bytes()) {
            Err(error) => error,
            Ok(_) => panic!("accepted {text}"),
        }
    }

    #[test]
    fn reads_the_key_of_rfc_7517() {
        let jwk = with(r#""kid":"1","use":"sig","alg":"ES256","key_ops":["verify"],"x5u":"u","#);
        let jwk = jwk.unwrap();
        assert_eq!(jwk.kid.as_deref(), Some("1"));
        assert_eq!(jwk.key.curve(), Curve::P256);
        assert_eq!(base64url::encode(jwk.key.coordinates().0), X);
        assert_eq!(base64url::encode(jwk.key.coordinates().1), Y);
        assert!(with("").unwrap().kid.is_none());
    }

    #[test]
    fn resolves_escapes_before_it_compares() {
        assert_eq!(with(r#""\u0064":"AA","#).err(), Some(PRIVATE));
        assert_eq!(with(r#""kid":"\u0041","#).unwrap().kid.as_deref(), Some("A"));
        let x = format!("\\u004d{}", X.strip_prefix('M').unwrap());
        let text = format!(r#"{{"kty":"\u0045C","crv":"P\u002d256","x":"{x}","y":"{Y}"}}"#);
        assert_eq!(Jwk::parse(text.as_bytes()).unwrap().key, with("").unwrap().key);
    }

    #[test]
    fn refuses_private_members() {
        for member in PRIVATE_MEMBERS {
            let error = with(&format!(r#""{member}":"AA","#)).err();
            assert_eq!(error, Some(PRIVATE), "{member}");
        }
        assert_eq!(with(r#""d":null,"#).err(), Some(PRIVATE));
    }

    #[test]
    fn refuses_text_that_is_not_a_json_object() {
        for (text, expected) in [
            ("", NOT_JSON),
            ("{", NOT_JSON),
            (r#"{"kty":"EC","kty":"EC"}"#, NOT_JSON),
            ("[]", NOT_OBJECT),
            (r#""EC""#, NOT_OBJECT),
            ("null", NOT_OBJECT),
            ("{}", NOT_EC),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
        assert_eq!(Jwk::parse(b"\xff").err(), Some(NOT_JSON));
    }

    #[test]
    fn refuses_other_kinds_and_curves() {
        let rest = format!(r#""x":"{X}","y":"{Y}""#);
        for kty in
            [r#""RSA""#, r#""oct""#, r#""OKP""#, r#""ec""#, r#""""#, "1", "null", r#"["EC"]"#]
        {
            assert_eq!(error(&format!(r#"{{"kty":{kty},"crv":"P-256",{rest}}}"#)), NOT_EC, "{kty}");
        }
        for crv in [r#""secp256k1""#, r#""p-256""#, r#""P-256K""#, "256", "null", r#"["P-256"]"#] {
            let text = format!(r#"{{"kty":"EC","crv":{crv},{rest}}}"#);
            assert_eq!(error(&text), BAD_CURVE, "{crv}");
        }
        assert_eq!(error(&format!(r#"{{"kty":"EC",{rest}}}"#)), BAD_CURVE);
    }

    #[test]
    fn refuses_coordinates_of_another_length_or_encoding() {
        let key = |crv: &str, x: &str, y: &str| {
            format!(r#"{{"kty":"EC","crv":"{crv}","x":{x},"y":{y}}}"#)
        };
        let (x, y) = (format!("\"{X}\""), format!("\"{Y}\""));
        let short = format!("\"{}\"", base64url::encode(&[1; 31]));
        let long = format!("\"{}\"", base64url::encode(&[1; 33]));
        let beyond_any = format!("\"{}\"", base64url::encode(&[1; 67]));
        let huge = format!("\"{}\"", "A".repeat(1 << 20));
        let padded = format!("\"{X}=\"");
        let trailing_bits = format!("\"{}\"", X.replace("D4", "D5"));
        let spaced = format!("\" {X}\"");
        for bad in [short, long, beyond_any, huge, padded, trailing_bits, spaced] {
            assert_eq!(error(&key("P-256", &bad, &y)), BAD_X);
            assert_eq!(error(&key("P-256", &x, &bad)), BAD_Y);
        }
        for bad in ["\"\"", "null", "1", "[]"] {
            assert_eq!(error(&key("P-256", bad, &y)), BAD_X);
            assert_eq!(error(&key("P-256", &x, bad)), BAD_Y);
        }
        assert_eq!(error(&key("P-384", &x, &y)), BAD_X);
        assert_eq!(error(&format!(r#"{{"kty":"EC","crv":"P-256","y":{y}}}"#)), BAD_X);
        assert_eq!(error(&format!(r#"{{"kty":"EC","crv":"P-256","x":{x}}}"#)), BAD_Y);
    }

    #[test]
    fn refuses_a_kid_that_is_not_a_string() {
        for kid in ["1", "null", "[]", "{}", "true"] {
            assert_eq!(with(&format!(r#""kid":{kid},"#)).err(), Some(BAD_KID), "{kid}");
        }
    }

    #[test]
    fn refuses_an_alg_of_another_curve() {
        for alg in [r#""ES384""#, r#""es256""#, r#""none""#, r#""ECDH-ES""#, "null", "256"] {
            assert_eq!(with(&format!(r#""alg":{alg},"#)).err(), Some(BAD_ALG), "{alg}");
        }
    }

    #[test]
    fn refuses_keys_for_other_uses() {
        for used_for in [r#""enc""#, r#""SIG""#, "null", r#"["sig"]"#] {
            assert_eq!(with(&format!(r#""use":{used_for},"#)).err(), Some(BAD_USE), "{used_for}");
        }
        for ops in ["[]", r#"["sign"]"#, r#"["deriveKey"]"#, r#""verify""#, "null", "[1]"] {
            assert_eq!(with(&format!(r#""key_ops":{ops},"#)).err(), Some(BAD_KEY_OPS), "{ops}");
        }
        assert!(with(r#""key_ops":["sign","verify"],"#).is_ok());
    }

    #[test]
    fn a_written_key_reads_back() {
        let key = with("").unwrap().key;
        let json = key.to_jwk_json(Some("did:web:a#\"1\""));
        let back = Jwk::parse(json.as_bytes()).unwrap();
        assert_eq!((back.key, back.kid.as_deref()), (key, Some("did:web:a#\"1\"")));
    }
}
