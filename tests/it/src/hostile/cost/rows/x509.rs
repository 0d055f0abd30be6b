//! Certificates, chains of them, and CRLs.

use idgate_core::UnixMillis;
use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{RootOrigin, TrustAnchor, VerifiedCrl, is_valid_rfc5280_path};
use idgate_testkit::der::{bit_string, oid, sequence, tlv, unsigned};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{Crl, CrlEntry, extension};
use idgate_testkit::time::compact_utc;
use idgate_testkit::x509::{
    CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, distribution_points, key_identifier,
};

use crate::hostile::NOW_MS;
use crate::hostile::cost::{Generator, Row};
use crate::hostile::mdoc::Sample;

/// A name, and a function that adds about this many hostile bytes to a certificate.
pub(super) type Stuffing = (&'static str, fn(CertificateBuilder, usize) -> CertificateBuilder);

pub(super) const STUFFINGS: &[Stuffing] = &[
    ("extensions", |builder, size| {
        (0..size / 14).fold(builder, |mut builder, at| {
            let oid = format!("1.2.{}.{}", at / 128, at % 128);
            builder.extensions.push(idgate_testkit::x509::Extension {
                oid,
                critical: false,
                value: Vec::new(),
            });
            builder
        })
    }),
    ("32 extensions", |builder, size| {
        (0..22).fold(builder, |builder, at| {
            builder.set(&format!("1.2.3.{at}"), false, tlv(4, &[&vec![0; size / 22]]))
        })
    }),
    ("alternative names", |builder, size| {
        let names = tlv(0x82, &[]).repeat(size / 2);
        builder.set(SUBJECT_ALT_NAME, false, sequence(&[&names]))
    }),
    ("900 alternative names", |builder, size| {
        let name = tlv(0x86, &[&vec![b'a'; size / 900]]);
        builder.set(SUBJECT_ALT_NAME, false, sequence(&[&name.repeat(800)]))
    }),
    ("distribution points", |builder, size| {
        let points = distribution_points(&vec!["http://a/"; size / 17]);
        builder.set("2.5.29.31", false, points)
    }),
    ("policies", |builder, size| {
        let policy = sequence(&[&oid("1.2.3")]);
        builder.set("2.5.29.32", false, sequence(&[&policy.repeat(size / 6)]))
    }),
    ("extended key usages", |builder, size| {
        builder.set("2.5.29.37", true, sequence(&[&oid("1.2").repeat(size / 3)]))
    }),
    ("nested sequences", |builder, size| {
        let nested = (0..(size / 6).min(2000)).fold(Vec::new(), |inner, _| sequence(&[&inner]));
        builder.set(SUBJECT_ALT_NAME, false, nested)
    }),
    ("attributes of the subject", |builder, size| {
        builder.with(|own| {
            for _ in 0..size / 11 {
                own.subject = std::mem::take(&mut own.subject).with("2.5.4.3", 12, "");
            }
        })
    }),
    ("1 KiB of attributes of both names", |builder, _| {
        builder.with(|own| {
            for _ in 0..80 {
                own.subject = std::mem::take(&mut own.subject).with("2.5.4.3", 12, "");
                own.issuer = std::mem::take(&mut own.issuer).with("2.5.4.3", 12, "");
            }
        })
    }),
    ("an issuer that folds to eleven times its length", |builder, _| {
        builder.with(|own| own.issuer = Name::new("UT", &"\u{fdfa}".repeat(300)))
    }),
    ("an issuer of words", |builder, _| {
        builder.with(|own| own.issuer = Name::new("UT", &"\u{e4} ".repeat(300)))
    }),
    ("a serial number", |builder, size| builder.with(|own| own.serial = vec![7; size])),
    ("an RSA key", |builder, size| {
        builder.with(|own| own.spki = rsa_key(&vec![0xff; size.min(1024)]))
    }),
    ("an RSA key of all bytes", |builder, size| {
        builder.with(|own| own.spki = rsa_key(&vec![0xff; size]))
    }),
    ("explicit curve parameters", |builder, size| {
        builder.with(|own| {
            let number = unsigned(&vec![0xff; size / 5]);
            let octets = tlv(4, &[&vec![0xff; size / 5]]);
            let field = sequence(&[&oid("1.2.840.10045.1.1"), &number]);
            let curve = sequence(&[&octets, &octets]);
            let base = tlv(4, &[&vec![4; size / 5]]);
            let all = sequence(&[&unsigned(&[1]), &field, &curve, &base, &number]);
            let algorithm = sequence(&[&oid("1.2.840.10045.2.1"), &all]);
            own.spki = sequence(&[&algorithm, &bit_string(&[4; 65])]);
        })
    }),
];

fn rsa_key(modulus: &[u8]) -> Vec<u8> {
    let algorithm = sequence(&[&oid("1.2.840.113549.1.1.1"), &[5, 0]]);
    let key = sequence(&[&unsigned(modulus), &unsigned(&[1, 0xff, 0xff, 0xff, 0xff])]);
    sequence(&[&algorithm, &bit_string(&key)])
}

/// A certificate with hostile contents that names the root as its issuer, without the root's
/// signature.
pub(super) fn stuffed(stuffing: &Stuffing, size: usize) -> Vec<u8> {
    let signer = Identity::iaca(Curve::P256, NOW_MS).document_signer(Curve::P256, NOW_MS);
    let stranger = SigningKey::from_seed(Curve::P256, "stranger");
    (stuffing.1)(signer.builder, size.saturating_sub(700)).sign(&stranger)
}

fn root() -> Identity {
    Identity::iaca(Curve::P256, NOW_MS)
}

fn anchor(root: &Identity) -> TrustAnchor {
    TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap()
}

pub(super) fn certificate() -> Row {
    let anchors = [anchor(&root())];
    let worst = |stuffing: &'static Stuffing| -> (&'static str, Generator) {
        (stuffing.0, Box::new(|size| stuffed(stuffing, size)))
    };
    Row {
        name: "certificate",
        full: 16 * 1024,
        read: Box::new(move |leaf| {
            is_valid_rfc5280_path(&PROVIDER, leaf, &[], &anchors, 0, UnixMillis(NOW_MS));
        }),
        valid: Box::new(|size| {
            let (root, padding) = (root(), tlv(4, &[&vec![0; size.saturating_sub(700)]]));
            let signer = root.document_signer(Curve::P256, NOW_MS).builder;
            signer.set("1.2.3.4", false, padding).sign(&root.key)
        }),
        worst: STUFFINGS.iter().map(worst).collect(),
    }
}

/// In a DeviceResponse, as a wallet sends it.
pub(super) fn x5chain() -> Row {
    let sample = Sample::new();
    let chain = |make: Box<dyn Fn(usize) -> Vec<Vec<u8>>>| -> Generator {
        Box::new(move |size| Sample::new().response_with_chain(&make(size)))
    };
    let mut worst: Vec<(&'static str, Generator)> = Vec::new();
    for stuffing in STUFFINGS {
        worst.push((stuffing.0, chain(Box::new(|size| vec![stuffed(stuffing, size)]))));
    }
    for stuffing in STUFFINGS {
        let ten = move |size: usize| vec![stuffed(stuffing, (size / 10).min(16_000)); 10];
        worst.push((stuffing.0, chain(Box::new(ten))));
    }
    worst.push(("ten issuers of one name", chain(Box::new(ten_issuers))));
    worst.push(("thousands of certificates", chain(Box::new(|size| vec![vec![0x30]; size / 2]))));
    Row {
        name: "x5chain",
        full: 480 * 1024,
        read: Box::new(move |response| drop(sample.said(response))),
        valid: Box::new(|size| Sample::of_size(size).good()),
        worst,
    }
}

/// A signer, and nine certificates that claim to be its issuer.
fn ten_issuers(size: usize) -> Vec<Vec<u8>> {
    let (root, stranger) = (root(), SigningKey::from_seed(Curve::P256, "stranger"));
    let padding = tlv(4, &[&vec![0; (size / 10).saturating_sub(700).min(15_000)]]);
    let issuer = CertificateBuilder::intermediate(&root, Name::new("UT", "I"), &stranger, NOW_MS)
        .set("1.2.3.4", false, padding);
    let issuers = (1..10).map(|serial| issuer.clone().with(|own| own.serial = vec![serial]));
    let issuers: Vec<Vec<u8>> = issuers.map(|issuer| issuer.sign(&stranger)).collect();
    let signer = issuer.issue(&root, &stranger).document_signer(Curve::P256, NOW_MS);
    [vec![signer.der], issuers].concat()
}

pub(super) fn crl() -> Row {
    let anchors = [anchor(&root())];
    let list = || {
        let (this, next) = (compact_utc(NOW_MS - 1000), compact_utc(NOW_MS + 86_400_000));
        let root = root();
        Crl::new(&root.builder.subject.der(), &key_identifier(&root.key), &this, &next)
    };
    let entries = move |size: usize, each: usize, extensions: Vec<Vec<u8>>| {
        let serials = 0..u32::try_from(size / each).unwrap();
        let entry = |serial: u32| CrlEntry {
            serial: [&[1; 12][..], &serial.to_be_bytes()].concat(),
            extensions: extensions.clone(),
        };
        serials.map(entry).fold(list(), Crl::entry)
    };
    let unknown = |at: usize| extension(&[0x2a, 3, (at >> 7) as u8, (at & 0x7f) as u8], false, &[]);
    let own = || root().key;
    let stranger = || SigningKey::from_seed(Curve::P256, "stranger");
    let with = move |extension: Vec<u8>| list().extension(extension).sign(&stranger());
    Row {
        name: "CRL",
        full: 2 * 1024 * 1024,
        read: Box::new(move |der| drop(VerifiedCrl::from_der(&PROVIDER, der, &anchors))),
        valid: Box::new(move |size| entries(size, 37, Vec::new()).sign(&own())),
        worst: vec![
            (
                "entries signed by a stranger",
                Box::new(move |size| entries(size, 37, Vec::new()).sign(&stranger())),
            ),
            (
                "extensions of the list",
                Box::new(move |size| {
                    (0..size / 12)
                        .fold(list(), |crl, at| crl.extension(unknown(at)))
                        .sign(&stranger())
                }),
            ),
            (
                "signed extensions of the list",
                Box::new(move |size| {
                    (0..size / 12).fold(list(), |crl, at| crl.extension(unknown(at))).sign(&own())
                }),
            ),
            (
                "signed entries with one extension",
                Box::new(move |size| entries(size, 51, vec![unknown(1)]).sign(&own())),
            ),
            (
                "signed entries with 32 extensions",
                Box::new(move |size| {
                    entries(size, 424, (0..32).map(unknown).collect()).sign(&own())
                }),
            ),
            (
                "signed entries with many extensions",
                Box::new(move |size| {
                    entries(size, size / 2, (0..size / 30).map(unknown).collect()).sign(&own())
                }),
            ),
            (
                "URIs of distribution points",
                Box::new(move |size| {
                    let uris = tlv(0x86, &[b"http://a/"]).repeat(size / 11);
                    let point = tlv(0xa0, &[&tlv(0xa0, &[&uris])]);
                    with(extension(b"\x55\x1d\x1c", true, &sequence(&[&point])))
                }),
            ),
            (
                "an issuer's name",
                Box::new(move |size| {
                    let name = Name::new("UT", &"\u{fdfa}".repeat(size / 3)).der();
                    Crl { issuer: name, ..list() }.sign(&stranger())
                }),
            ),
            (
                "an authority key identifier",
                Box::new(move |size| {
                    with(extension(
                        b"\x55\x1d\x23",
                        false,
                        &sequence(&[&tlv(0x80, &[&vec![7; size]])]),
                    ))
                }),
            ),
        ],
    }
}
