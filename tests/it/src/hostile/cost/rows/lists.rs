//! Lists of roots that an operator imports.

use idgate_core::UnixMillis;
use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{RootOrigin, TrustAnchor, import_master_list, import_vical};
use idgate_testkit::der::{oid, sequence, tlv};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::master_list::{MasterList, master_list_signer};
use idgate_testkit::mdoc::{Cbor, MDL, rfc3339, sign1};
use idgate_testkit::x509::{CertificateBuilder, EXT_KEY_USAGE, Identity, Name, ext_key_usage};

use crate::hostile::NOW_MS;
use crate::hostile::cost::encoded::{CBOR, wrapped};
use crate::hostile::cost::{Generator, Row};

const NOW: UnixMillis = UnixMillis(NOW_MS);
const FULL: usize = 512 * 1024;

fn ca() -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "list CA");
    CertificateBuilder::iaca_root(Name::new("UN", "List CA"), &key, NOW_MS).self_sign(&key)
}

fn roots(size: usize) -> Vec<Vec<u8>> {
    let root = Identity::iaca(Curve::P256, NOW_MS).der;
    vec![root.clone(); size / root.len()]
}

fn listed(certificates: &[Vec<u8>]) -> MasterList {
    let certificates: Vec<&[u8]> = certificates.iter().map(Vec::as_slice).collect();
    MasterList::new(&certificates, NOW_MS - 1000)
}

pub(super) fn master_list() -> Row {
    let cas = [TrustAnchor::from_der(&PROVIDER, &ca().der, RootOrigin::RootFile).unwrap()];
    let signer = || master_list_signer(&ca(), NOW_MS);
    let repeated = |part: fn(&[u8]) -> Option<(usize, usize)>| -> Generator {
        Box::new(move |size| {
            let good = listed(&roots(size / 2)).sign(&signer());
            repeat_part(&good, part, size / 2)
        })
    };
    Row {
        name: "Master List",
        full: FULL,
        read: Box::new(move |file| {
            drop(import_master_list(&PROVIDER, file, Some(&cas), NOW));
            drop(import_master_list(&PROVIDER, file, None, NOW));
        }),
        valid: Box::new(move |size| listed(&roots(size)).sign(&signer())),
        worst: vec![
            ("signers", repeated(last_set)),
            ("certificates of signers", repeated(certificates_of_signers)),
            (
                "elements that are not certificates",
                Box::new(move |size| listed(&vec![vec![0x30, 0]; size / 2]).sign(&signer())),
            ),
            (
                "nothing signed",
                Box::new(move |size| {
                    let forger =
                        Identity { key: SigningKey::from_seed(Curve::P256, "f"), ..signer() };
                    listed(&roots(size)).sign(&forger)
                }),
            ),
        ],
    }
}

/// Repeats the elements of one of the file's sets and corrects the lengths around it.
fn repeat_part(file: &[u8], part: fn(&[u8]) -> Option<(usize, usize)>, size: usize) -> Vec<u8> {
    let (start, end) = part(file).unwrap();
    let content = content_of(&file[start..end]);
    let many = content.repeat(size / content.len());
    let set = tlv(file[start], &[&many]);
    let signed = signed_data(file);
    let at = start - signed.0;
    let inner = [&file[signed.0..signed.0 + at], &set[..], &file[end..]].concat();
    sequence(&[&oid("1.2.840.113549.1.7.2"), &tlv(0xa0, &[&sequence(&[&inner])])])
}

/// Start and end of each element in `bytes`, from `at` on.
fn elements(bytes: &[u8], mut at: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    while at < bytes.len() {
        let (head, len) = head_of(&bytes[at..]);
        found.push((at, at + head + len));
        at += head + len;
    }
    found
}

fn head_of(der: &[u8]) -> (usize, usize) {
    match der[1] {
        short @ 0..0x80 => (2, usize::from(short)),
        long => {
            let bytes = usize::from(long & 0x7f);
            let number = |n: usize, byte: &u8| n << 8 | usize::from(*byte);
            (2 + bytes, der[2..2 + bytes].iter().fold(0, number))
        }
    }
}

fn content_of(der: &[u8]) -> &[u8] {
    &der[head_of(der).0..]
}

/// Where the content of SignedData begins and ends.
fn signed_data(file: &[u8]) -> (usize, usize) {
    let outer = head_of(file).0;
    let wrapper = elements(file, outer)[1].0;
    let sequence = wrapper + head_of(&file[wrapper..]).0;
    (sequence + head_of(&file[sequence..]).0, file.len())
}

fn last_set(file: &[u8]) -> Option<(usize, usize)> {
    elements(file, signed_data(file).0).pop()
}

fn certificates_of_signers(file: &[u8]) -> Option<(usize, usize)> {
    let parts = elements(file, signed_data(file).0);
    parts.into_iter().find(|(start, _)| file[*start] == 0xa0)
}

pub(super) fn vical() -> Row {
    let cas = [TrustAnchor::from_der(&PROVIDER, &ca().der, RootOrigin::RootFile).unwrap()];
    Row {
        name: "VICAL",
        full: FULL,
        read: Box::new(move |file| {
            drop(import_vical(&PROVIDER, file, Some(&cas), false, NOW));
            drop(import_vical(&PROVIDER, file, None, false, NOW));
        }),
        valid: Box::new(|size| {
            let info = |root: Vec<u8>| {
                Cbor::map([
                    ("certificate", Cbor::Bytes(root)),
                    ("docType", Cbor::Array(vec![MDL.into()])),
                ])
            };
            signed(&payload(Cbor::Array(roots(size).into_iter().map(info).collect())))
        }),
        worst: wrapped(CBOR, |size, fill| signed(&payload(Cbor::Raw(fill(size))))),
    }
}

fn payload(infos: Cbor) -> Vec<u8> {
    let payload = Cbor::map([
        ("version", "1.0".into()),
        ("date", Cbor::tdate(&rfc3339(NOW_MS - 1000))),
        ("certificateInfos", infos),
    ]);
    payload.encode()
}

fn signed(payload: &[u8]) -> Vec<u8> {
    let key = SigningKey::from_seed(Curve::P256, "vical signer");
    let signer =
        CertificateBuilder::document_signer(&ca(), Name::new("UN", "Signer"), &key, NOW_MS)
            .set(EXT_KEY_USAGE, true, ext_key_usage(&["1.0.18013.5.1.8"]))
            .sign(&ca().key);
    let protected = Cbor::Map(vec![(1.into(), (-7).into())]);
    let chain = Cbor::Map(vec![(33.into(), Cbor::Bytes(signer))]);
    sign1(&key, &protected, chain, payload, true).encode()
}
