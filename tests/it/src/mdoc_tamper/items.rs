//! The items: digests, their form, and the requested elements.

use idgate_testkit::mdoc::{Cbor, Item, MDL_NAME_SPACE};

use super::{Row, Scenario};

pub(super) const ROWS: &[Row] = &[
    Row::refused("a requested value", DIGEST, |s| value(s, "family_name", "Musterfrau".into())),
    Row::refused("an unrequested value", DIGEST, |s| value(s, "portrait", Cbor::Int(1))),
    Row::refused("an age that is not reached", DIGEST, |s| value(s, "age_over_18", false.into())),
    Row::refused("the name of an element", DIGEST, |s| {
        s.issued().change("birth_date", |i| i.map.set("elementIdentifier", "age_over_21"));
    }),
    Row::refused("an unknown digestID", DIGEST, |s| {
        s.issued().change("family_name", |i| i.map.set("digestID", 99));
    }),
    Row::refused("the digestIDs of two items exchanged", DIGEST, |s| {
        s.issued().change("family_name", |i| i.map.set("digestID", 1));
        s.issued().change("birth_date", |i| i.map.set("digestID", 0));
    }),
    Row::refused("the random of an item", DIGEST, |s| {
        s.issued().change("family_name", |i| i.map.set("random", Cbor::Bytes(vec![9; 32])));
    }),
    Row::refused("an item without a digest", DIGEST, |s| {
        let item = Item::new(MDL_NAME_SPACE, 50, "given_name", "Erika");
        s.issued().items.push(item);
    }),
    Row::refused("an item in another namespace", DIGEST, |s| {
        s.issued().change("portrait", |i| i.name_space = "another".into());
    }),
    Row::refused("an empty digest", DIGEST, |s| {
        s.issued().mso.at("valueDigests").at(MDL_NAME_SPACE).set(0, Cbor::Bytes(Vec::new()));
    }),
    Row::refused("a digest as text", MALFORMED, |s| {
        s.issued().mso.at("valueDigests").at(MDL_NAME_SPACE).set(0, "digest");
    }),
    Row::refused("a longer encoding of an item", DIGEST, |s| {
        s.issued().change("family_name", longer);
    }),
    Row::verified("a longer encoding that the issuer signed", |s| {
        s.issued().change("family_name", longer);
        s.digest();
    }),
    Row::verified("the order of the items", |s| s.issued().items.reverse()),
    Row::verified("the order of an item's entries", |s| {
        if let Cbor::Map(entries) = &mut s.issued().items[0].map {
            entries.rotate_left(1);
        }
        s.digest();
    }),
    Row::refused("the order of an item's entries after signing", DIGEST, |s| {
        if let Cbor::Map(entries) = &mut s.issued().items[0].map {
            entries.rotate_left(1);
        }
    }),
    Row::refused("a random of 15 bytes", MALFORMED, |s| random(s, 15)),
    Row::refused("an empty random", MALFORMED, |s| random(s, 0)),
    Row::verified("a random of 16 bytes", |s| random(s, 16)),
    Row::refused("an item without random", MALFORMED, |s| {
        s.issued().change("portrait", |i| i.map.remove("random"));
        s.digest();
    }),
    Row::refused("an item without a name", MALFORMED, |s| {
        s.issued().change("portrait", |i| i.map.remove("elementIdentifier"));
        s.digest();
    }),
    Row::refused("an item without a value", MALFORMED, |s| {
        s.issued().change("portrait", |i| i.map.remove("elementValue"));
        s.digest();
    }),
    Row::refused("an entry of an item twice", MALFORMED, |s| {
        s.issued().change("portrait", |item| {
            let mut bytes = item.map.encode();
            bytes[0] += 1;
            bytes.extend(b"\x68digestID\x04");
            item.encoded = Some(bytes);
        });
        s.digest();
    }),
    Row::refused("a negative digestID", MALFORMED, |s| {
        s.issued().change("portrait", |i| i.map.set("digestID", -1));
    }),
    Row::refused("a digestID as text", MALFORMED, |s| {
        s.issued().change("portrait", |i| i.map.set("digestID", "4"));
    }),
    Row::verified("a digestID of 32 bits", |s| {
        s.issued().change("portrait", |i| i.map.set("digestID", 4_294_967_295));
        s.digest();
    }),
    Row::verified("an element of its name in another namespace", |s| {
        s.issued().items.push(Item::new("another", 0, "family_name", "Mustermann"));
        s.digest();
    }),
    Row::refused("an item twice", MALFORMED, |s| {
        let again = s.issued().items[0].clone();
        s.issued().items.push(again);
    }),
    Row::refused("an element twice", MALFORMED, |s| {
        let again = Item::new(MDL_NAME_SPACE, 50, "family_name", "Musterfrau");
        s.issued().items.push(again);
        s.digest();
    }),
    Row::refused("a requested element left out", "claim_missing", |s| {
        s.issued().items.remove(0);
    }),
    Row::refused("a requested element in another namespace", "claim_missing", |s| {
        s.issued().change("family_name", |i| i.name_space = "another".into());
        s.digest();
    }),
    Row::refused("no items at all", "claim_missing", |s| s.issued().items.clear()),
    Row::refused("a requested value that JSON cannot have", MALFORMED, |s| {
        value(s, "family_name", Cbor::Float(f64::NAN));
        s.digest();
    }),
    Row::refused("a requested value undefined", MALFORMED, |s| shown(s, Cbor::Undefined)),
    Row::refused("a requested map of numbers", MALFORMED, |s| shown(s, map_of_numbers())),
    Row::refused("a requested number of 72 bits", MALFORMED, |s| shown(s, number_of_72_bits())),
    Row::refused("a requested array with undefined", MALFORMED, |s| {
        shown(s, Cbor::Array(vec![Cbor::Undefined]));
    }),
    Row::verified("a number that is none, not asked for", |s| hidden(s, Cbor::Float(f64::NAN))),
    Row::verified("undefined, not asked for", |s| hidden(s, Cbor::Undefined)),
    Row::verified("a map of numbers, not asked for", |s| hidden(s, map_of_numbers())),
    Row::verified("a number of 72 bits, not asked for", |s| hidden(s, number_of_72_bits())),
    Row::verified("an array with undefined, not asked for", |s| {
        hidden(s, Cbor::Array(vec![Cbor::Undefined]));
    }),
    Row::refused("an empty issuing country", "chain_invalid", |s| {
        value(s, "issuing_country", "".into());
        s.digest();
    }),
    // An absent issuing country cannot be wrong.
    Row::verified("no issuing country", |s| drop(s.issued().items.remove(3))),
    Row::verified("a jurisdiction that the signer does not name", |s| {
        let item = Item::new(MDL_NAME_SPACE, 50, "issuing_jurisdiction", "UT-A");
        s.issued().items.push(item);
        s.digest();
    }),
    Row::refused("an issuing country that is not the signer's", "chain_invalid", |s| {
        value(s, "issuing_country", "DE".into());
        s.digest();
    }),
    Row::verified("an issuing country in lower case", |s| {
        value(s, "issuing_country", "ut".into());
        s.digest();
    }),
    Row::verified("an unrequested element left out", |s| {
        s.issued().items.truncate(4);
    }),
];

const DIGEST: &str = "digest_mismatch";
const MALFORMED: &str = "malformed_presentation";

fn value(scenario: &mut Scenario, element: &str, value: Cbor) {
    scenario.issued().change(element, |item| item.map.set("elementValue", value));
}

/// Replaces a requested element before signing.
fn shown(scenario: &mut Scenario, other: Cbor) {
    value(scenario, "family_name", other);
    scenario.digest();
}

/// Replaces an element that was not requested before signing.
fn hidden(scenario: &mut Scenario, other: Cbor) {
    value(scenario, "portrait", other);
    scenario.digest();
}

fn map_of_numbers() -> Cbor {
    Cbor::Map(vec![(1.into(), 2.into())])
}

fn number_of_72_bits() -> Cbor {
    Cbor::Tag(2, Box::new(Cbor::Bytes(vec![1; 9])))
}

fn random(scenario: &mut Scenario, len: usize) {
    let bytes = Cbor::Bytes(vec![1; len]);
    scenario.issued().change("portrait", |item| item.map.set("random", bytes));
    scenario.digest();
}

fn longer(item: &mut Item) {
    let bytes = item.map.encode();
    item.encoded = Some([&[0xb8, 0x04][..], &bytes[1..]].concat());
}
