//! One test per rule of identifier lists (ISO/IEC 18013-5 second edition 12.3.6), which follow all
//! rules of a status list token and have additional ones.

use idgate_testkit::status::cbor;

use super::super::super::fixtures::{MDL, anchor, for_usages, root_with, signer_with};
use super::*;

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
const REVOKED: &[u8] = &[7, 8, 9];

/// Two identifiers are revoked.
fn listed() -> StatusCwt {
    listing(&[REVOKED, b"other"])
}

fn listing(identifiers: &[&[u8]]) -> StatusCwt {
    StatusCwt::identifiers(identifiers, URI, NOW_SECS - 10, &[&signer(&signing_key("signer"))])
}

/// A token with this value of the claim.
fn claim(value: Vec<u8>) -> StatusCwt {
    listed().with(65530, value)
}

fn sign(token: &StatusCwt) -> Vec<u8> {
    token.sign(&signing_key("signer"))
}

fn verify_in_context(context: &StatusContext<'_>, token: &[u8]) -> Verdict {
    let voucher = voucher();
    let signer = ListSigner::Certificate(&voucher);
    VerifiedStatusList::verify_kind(ListKind::Identifiers, token, URI, signer, context)
        .and_then(Judged::current)
}

fn verify(token: &[u8]) -> Verdict {
    verify_in_context(&context(&entry()), token)
}

fn told(list: &VerifiedStatusList, identifier: &[u8]) -> Result<(), Reason> {
    list.check_at(&Place::Identifier(identifier.into())).map_err(|error| error.reason)
}

#[test]
fn an_identifier_in_the_list_is_revoked_and_any_other_is_good() {
    let list = verify(&sign(&listed())).unwrap();
    assert_eq!(told(&list, REVOKED), Err(Reason::CredentialRevoked));
    assert_eq!(told(&list, b"other"), Err(Reason::CredentialRevoked));
    for good in [&[7, 8][..], &[7, 8, 9, 0], b"Other", b""] {
        assert_eq!(told(&list, good), Ok(()), "{good:?}");
    }
    assert_eq!(told(&verify(&sign(&listing(&[]))).unwrap(), REVOKED), Ok(()), "nothing is revoked");
    assert_eq!(list.fresh_until(), NOW.plus(3_600_000));
    assert!(list.weight() >= REVOKED.len() + 5);
}

#[test]
fn an_identifier_list_has_no_places_and_a_status_list_no_identifiers() {
    let identifiers = verify(&sign(&listed())).unwrap();
    let statuses = of_mdoc(&cwt().sign(&signing_key("signer"))).unwrap();
    assert_eq!((identifiers.status(0), identifiers.kind()), (None, ListKind::Identifiers));
    refused(identifiers.check_at(&Place::Index(0)).map(|()| identifiers.clone()), "different kind");
    assert_eq!(told(&statuses, REVOKED), Err(Reason::RevocationUnknown));
}

#[test]
fn the_type_is_that_of_an_identifier_list() {
    for typ in
        ["application/statuslist+cwt", "application/identifierlist+jwt", "application/cwt", ""]
    {
        let mut wrong = listed();
        wrong.protected = vec![(16, StatusCwt::text(typ))];
        refused(verify(&sign(&wrong)), "application/identifierlist+cwt");
    }
    let mut without = listed();
    without.protected.clear();
    refused(verify(&sign(&without)), "application/identifierlist+cwt");
    let mut unprotected = listed();
    unprotected.unprotected.append(&mut unprotected.protected);
    refused(verify(&sign(&unprotected)), "application/identifierlist+cwt");
    // Nor is one accepted in place of a status list.
    refused(of_mdoc(&sign(&listed())), "application/statuslist+cwt");
}

#[test]
fn a_token_has_one_kind_of_list() {
    refused(verify(&sign(&listed().without(65530))), "no identifier list");
    refused(verify(&sign(&listed().with(65533, StatusCwt::status_list(1, b"")))), "as well");
}

#[test]
fn identifiers_are_byte_strings_mapped_to_maps() {
    let entry = |key: Vec<u8>, value: Vec<u8>| cbor::map(&[(key, value)]);
    let within = |map: Vec<u8>| cbor::map(&[(cbor::text("identifiers"), map)]);
    let nothing = || cbor::map(&[]);
    for (value, why) in [
        (within(entry(cbor::text("x"), nothing())), "not a byte string"),
        (within(entry(cbor::integer(1), nothing())), "not a byte string"),
        (within(entry(cbor::bytes(b"x"), cbor::integer(1))), "has no map"),
        (within(entry(cbor::bytes(b"x"), cbor::array(&[]))), "has no map"),
        (within(cbor::array(&[cbor::bytes(b"x")])), "not a map"),
        (within(cbor::bytes(b"x")), "not a map"),
        (cbor::map(&[]), "not a map"),
        (cbor::map(&[(cbor::text("Identifiers"), nothing())]), "not a map"),
        (cbor::array(&[]), "not a map"),
        (cbor::integer(0), "not a map"),
    ] {
        refused(verify(&sign(&claim(value))), why);
    }
    // Other members, of an entry and of the list, are reserved for future use.
    let info = entry(cbor::text("reason"), cbor::integer(1));
    let more = cbor::map(&[
        (cbor::text("aggregation_uri"), cbor::text("https://status.example/all")),
        (cbor::text("identifiers"), entry(cbor::bytes(REVOKED), info)),
    ]);
    let list = verify(&sign(&claim(more))).unwrap();
    assert_eq!(told(&list, REVOKED), Err(Reason::CredentialRevoked));
}

#[test]
fn an_identifier_twice_is_refused() {
    refused(verify(&sign(&listing(&[REVOKED, REVOKED]))), "twice");
    let many: Vec<[u8; 2]> = (0u8..40).map(|n| [n, 1]).collect();
    let mut many: Vec<&[u8]> = many.iter().map(|one| &one[..]).collect();
    assert!(verify(&sign(&listing(&many))).is_ok());
    many.push(&[3, 1]);
    refused(verify(&sign(&listing(&many))), "twice");
    refused(verify(&sign(&listed().and(65530, cbor::map(&[])))), "twice");
}

#[test]
fn an_identifier_list_has_a_limit() {
    let all: Vec<[u8; 4]> = (0u32..250_100).map(u32::to_be_bytes).collect();
    let some = |count: usize| {
        let identifiers: Vec<&[u8]> = all[..count].iter().map(|one| &one[..]).collect();
        verify(&sign(&listing(&identifiers)))
    };
    let list = some(250_000).unwrap();
    assert_eq!(told(&list, &[0, 0, 0, 1]), Err(Reason::CredentialRevoked));
    assert_eq!(told(&list, &249_999u32.to_be_bytes()), Err(Reason::CredentialRevoked));
    assert_eq!(told(&list, &250_000u32.to_be_bytes()), Ok(()));
    refused(some(250_100), "larger than 250,000");
    refused(verify(&vec![0xd2; 11 << 20]), "10 MiB");
}

#[test]
fn the_signer_of_an_identifier_list_must_be_for_status_lists() {
    let key = signing_key("signer");
    let by = |der: &[u8]| verify(&StatusCwt::identifiers(&[], URI, NOW_SECS, &[der]).sign(&key));
    assert!(by(&signer(&key)).is_ok());
    refused(by(&signer_with(&key, &[for_usages(&[SERVER_AUTH])])), "extended key usage");
    refused(verify(&listed().sign(&signing_key("other"))), "did not sign");
    let mut unsigned = sign(&listed());
    let end = unsigned.len() - 64;
    unsigned[end..].fill(0);
    refused(verify(&unsigned), "did not sign");
    let mut without = listed();
    without.unprotected.clear();
    refused(verify(&sign(&without)), "x5chain");
    for alg in [-35, -8, 5] {
        refused(verify(&sign(&StatusCwt { alg: Some(alg), ..listed() })), "alg");
    }
    let mut elsewhere = entry();
    elsewhere.roots = vec![anchor(&root_with("Other", &signing_key("other root"), [1, 0x06]))];
    assert!(verify_in_context(&context(&elsewhere), &sign(&listed())).is_err());
}

#[test]
fn sub_of_an_identifier_list_is_exactly_the_uri() {
    for sub in ["https://status.example/2", "https://status.example/1/", ""] {
        refused(verify(&sign(&listed().with(2, StatusCwt::text(sub)))), "sub");
    }
    refused(verify(&sign(&listed().with(2, StatusCwt::integer(1)))), "no sub");
    refused(verify(&sign(&listed().without(2))), "no sub");
}

#[test]
fn an_identifier_list_is_valid_for_as_long_as_a_status_list() {
    let now = i64::try_from(NOW_SECS).unwrap();
    for past in [now - 60, 0, -1] {
        refused(verify(&sign(&listed().with(4, StatusCwt::integer(past)))), "past");
    }
    refused(verify(&sign(&listed().with(4, StatusCwt::text("1")))), "not a number");
    refused(verify(&sign(&listed().without(6))), "no iat");
    refused(verify(&sign(&listed().with(6, StatusCwt::integer(now + 61)))), "in the future");
    refused(verify(&sign(&listed().with(5, StatusCwt::integer(now + 61)))), "in the future");
    refused(verify(&sign(&listed().with(65534, StatusCwt::integer(0)))), "ttl");
    let without = verify(&sign(&listed().without(4))).unwrap();
    assert_eq!(without.expires_at(), Some(NOW.minus(10_000).plus(7 * 86_400_000)));
    let old = i64::try_from(NOW_SECS - 8 * 86_400).unwrap();
    refused(verify(&sign(&listed().without(4).with(6, StatusCwt::integer(old)))), "no exp");
}

#[test]
fn an_identifier_list_is_a_cwt_and_of_mdocs() {
    refused(verify(certified(jwt()).as_bytes()), "not a CWT");
    refused(verify(b""), "not a CWT");
    let entry = entry();
    let here = context(&entry);
    let sd_jwt = Voucher::of_sd_jwt(anchor(&root()).sha256());
    for signer in [ListSigner::IssuerKey, ListSigner::Certificate(&sd_jwt)] {
        let token = sign(&listed());
        let kind = ListKind::Identifiers;
        let judged = VerifiedStatusList::verify_kind(kind, &token, URI, signer, &here);
        refused(judged.and_then(Judged::current), "mdocs only");
    }
    let other = Voucher::of_mdoc(anchor(&root()).sha256(), MDL);
    assert!(verify(&sign(&listed())).unwrap().serves(ListSigner::Certificate(&other), &here));
}

#[test]
fn malformed_identifier_lists_are_refused_and_never_panic() {
    let token = sign(&listed());
    for len in 0..token.len() {
        assert!(verify(&token[..len]).is_err(), "{len}");
    }
    assert!(verify(&[&token[..], b"\0"].concat()).is_err());
    assert!(verify(&vec![0xd2; 1 << 20]).is_err());
    // A map that claims more entries than there are bytes.
    let huge = [&[0xa1, 0x6b][..], b"identifiers", &[0xbb, 0, 0, 0, 1, 0, 0, 0, 0]].concat();
    assert!(verify(&sign(&claim(huge))).is_err());
}

#[test]
fn references_to_identifier_lists_are_a_byte_string_and_a_web_address() {
    let read = |entries: &[(Vec<u8>, Vec<u8>)]| {
        let reference = cbor::map(entries);
        let mut tape = crate::codec::cbor::Tape::default();
        let id = tape.parse(&reference).unwrap();
        StatusListReference::from_identifier_list(tape.value(id))
    };
    let (id, uri) = (|| cbor::text("id"), || cbor::text("uri"));
    let good = read(&[(id(), cbor::bytes(REVOKED)), (uri(), cbor::text(URI))]).unwrap();
    assert_eq!((good.place, &*good.uri), (Place::Identifier(REVOKED.into()), URI));
    for bad in [
        vec![(id(), cbor::text("x")), (uri(), cbor::text(URI))],
        vec![(id(), cbor::integer(1)), (uri(), cbor::text(URI))],
        vec![(id(), cbor::bytes(b"x")), (uri(), cbor::text("file:///etc/passwd"))],
        vec![(id(), cbor::bytes(b"x")), (uri(), cbor::bytes(URI.as_bytes()))],
        vec![(id(), cbor::bytes(b"x"))],
        vec![(uri(), cbor::text(URI))],
        vec![],
    ] {
        assert_eq!(read(&bad), None, "{bad:?}");
    }
}
