//! Status list tokens, from hosts that a credential names.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{
    Jwk, RootOrigin, TrustAnchor, TrustEntry, TrustedKey, is_good_by_identifier_list,
    is_good_by_status_list,
};
use idgate_core::{CredentialFormat, IssuerId, UnixMillis};
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::Cbor;
use idgate_testkit::status::{StatusCwt, StatusJwt, StatusList};
use idgate_testkit::x509::Identity;

use crate::hostile::NOW_MS;
use crate::hostile::cost::encoded::{CBOR, JSON, wrapped};
use crate::hostile::cost::{Generator, Row};

const URI: &str = "https://status.example/1";
const FULL: usize = 2 * 1024 * 1024;

fn row(
    name: &'static str,
    format: CredentialFormat,
    valid: Generator,
    worst: Vec<(&'static str, Generator)>,
) -> Row {
    let (trust, now) = (trust(), UnixMillis(NOW_MS));
    let good =
        move |token: &[u8]| is_good_by_status_list(&PROVIDER, token, (URI, 0), &trust, format, now);
    row_by(name, good, valid, worst)
}

fn trust() -> TrustEntry {
    let (root, _) = authority();
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    let jwk = Jwk::parse(issuer().public_jwk().to_string().as_bytes()).unwrap();
    trust.keys.push(TrustedKey::new(jwk.key));
    trust.roots.push(TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap());
    trust
}

fn row_by(
    name: &'static str,
    good: impl Fn(&[u8]) -> bool + 'static,
    valid: Generator,
    worst: Vec<(&'static str, Generator)>,
) -> Row {
    assert!(good(&valid(64 * 1024)), "{name}");
    Row {
        name,
        full: FULL,
        read: Box::new(move |token| {
            good(token);
        }),
        valid,
        worst,
    }
}

fn issuer() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "issuer")
}

fn authority() -> (Identity, Identity) {
    let root = Identity::iaca(Curve::P256, NOW_MS);
    let signer = root.document_signer(Curve::P256, NOW_MS);
    (root, signer)
}

/// A list that deflates to about this many bytes: noise, which does not compress, after a good
/// first entry.
fn list(bytes: usize) -> StatusList {
    let mut list = StatusList::new(8, bytes.max(16));
    // Xorshift (Marsaglia 2003). A multiplication alone repeats its bytes and compresses well.
    let noise = |state: &u32| {
        let state = state ^ (state << 13);
        let state = state ^ (state >> 17);
        Some(state ^ (state << 5))
    };
    let states = std::iter::successors(Some(2_463_534_242_u32), noise);
    list.bytes = states.map(|state| (state >> 24) as u8).take(bytes.max(16)).collect();
    list.bytes[0] = 0;
    list
}

pub(super) fn jwt() -> Row {
    let valid: Generator = Box::new(|size| {
        StatusJwt::new(&list(size / 16 * 9), URI, NOW_MS / 1000).sign(&issuer()).into_bytes()
    });
    let signature = || "A".repeat(86);
    let header = || base64url(br#"{"alg":"ES256","typ":"statuslist+jwt"}"#);
    let mut worst = wrapped(JSON, move |size, fill| {
        format!("{}.e30.{}", base64url(&fill(size / 4 * 3)), signature()).into_bytes()
    });
    worst.extend(wrapped(JSON, move |size, fill| {
        let header = base64url(&fill(size.min(60_000) / 4 * 3));
        format!("{header}.{}.{}", "A".repeat(size.saturating_sub(60_000)), signature()).into_bytes()
    }));
    worst.extend(wrapped(JSON, move |size, fill| {
        format!("{}.{}.{}", header(), base64url(&fill(size / 4 * 3)), signature()).into_bytes()
    }));
    let whole = |text: &'static str| -> Generator {
        Box::new(move |size| text.repeat(size / text.len()).into_bytes())
    };
    worst.extend([("dots", whole(".")), ("spaces", whole(" ")), ("letters", whole("A"))]);
    row("status JWT", CredentialFormat::SdJwtVc, valid, worst)
}

pub(super) fn cwt() -> Row {
    let signed = |list: &StatusList| {
        let (_, signer) = authority();
        StatusCwt::new(list, URI, NOW_MS / 1000, &[&signer.der]).sign(&signer.key)
    };
    let valid: Generator = Box::new(move |size| signed(&list(size)));
    let worst = broken_cwts("application/statuslist+cwt");
    row("status CWT", CredentialFormat::Mdoc, valid, worst)
}

/// Identifiers come unsorted, so duplicates are found by sorting.
pub(super) fn identifiers() -> Row {
    let valid: Generator = Box::new(|size| {
        let (_, signer) = authority();
        let noise = list(size / 10 * 8).bytes;
        let listed: Vec<&[u8]> = noise.chunks_exact(8).collect();
        let token = StatusCwt::identifiers(&listed, URI, NOW_MS / 1000, &[&signer.der]);
        token.sign(&signer.key)
    });
    let (trust, now) = (trust(), UnixMillis(NOW_MS));
    let good = move |token: &[u8]| {
        is_good_by_identifier_list(&PROVIDER, token, (URI, b"none"), &trust, now)
    };
    row_by("identifier CWT", good, valid, broken_cwts("application/identifierlist+cwt"))
}

/// Tokens of this type with one expensive part and a bad signature.
fn broken_cwts(typ: &'static str) -> Vec<(&'static str, Generator)> {
    // From the outside in: unprotected header, protected header, payload, signature.
    let message = |protected: Cbor, unprotected: Cbor, payload: Cbor, signature: Cbor| {
        let parts = vec![protected, unprotected, payload, signature];
        Cbor::Tag(18, Box::new(Cbor::Array(parts))).encode()
    };
    let protected = move || {
        let typ = (16.into(), typ.into());
        Cbor::Map(vec![(1.into(), (-7).into()), typ]).encode()
    };
    let nothing = || Cbor::Bytes(Vec::new());
    let mut worst = wrapped(CBOR, move |size, fill| {
        let header = Cbor::Map(vec![(33.into(), Cbor::Raw(fill(size)))]);
        message(Cbor::Bytes(protected()), header, nothing(), Cbor::Bytes(vec![0; 64]))
    });
    worst.extend(wrapped(CBOR, move |size, fill| {
        let header = Cbor::Bytes(fill(size));
        message(header, Cbor::Map(Vec::new()), nothing(), nothing())
    }));
    worst.extend(wrapped(CBOR, move |size, fill| {
        let chain = Cbor::Map(vec![(33.into(), Cbor::Bytes(authority().1.der))]);
        message(Cbor::Bytes(protected()), chain, Cbor::Bytes(fill(size)), Cbor::Bytes(vec![1; 64]))
    }));
    worst.extend(wrapped(CBOR, |size, fill| [&[0xd2][..], &fill(size)].concat()));
    worst
}
