//! Names for what is requested: documents by their type, claims by their name in a PID, an mDL or a
//! photo ID. Anything unknown is shown under its own name.

use super::words::Words;
use crate::limits::MAX_SHOWN_CHARS;

/// Other names of the same claims.
const ALIASES: [(&str, &str); 43] = [
    ("birthdate", "birth_date"),
    ("birth_family_name", "family_name_birth"),
    ("birth_given_name", "given_name_birth"),
    ("name_at_birth", "family_name_birth"),
    ("place_of_birth", "birth_place"),
    ("birthplace", "birth_place"),
    ("place_of_birth.country", "birth_country"),
    ("place_of_birth.region", "birth_state"),
    ("place_of_birth.locality", "birth_city"),
    ("address", "resident_address"),
    ("address.formatted", "resident_address"),
    ("address.country", "resident_country"),
    ("address.region", "resident_state"),
    ("address.locality", "resident_city"),
    ("address.postal_code", "resident_postal_code"),
    ("address.street_address", "resident_street"),
    ("address.house_number", "resident_house_number"),
    ("resident_address_unicode", "resident_address"),
    ("resident_city_unicode", "resident_city"),
    ("gender", "sex"),
    ("nationalities", "nationality"),
    ("picture", "portrait"),
    ("email", "email_address"),
    ("phone_number", "mobile_phone_number"),
    ("administrative_number", "personal_administrative_number"),
    ("date_of_issuance", "issue_date"),
    ("issuance_date", "issue_date"),
    ("date_of_expiry", "expiry_date"),
    ("issuing_authority_unicode", "issuing_authority"),
    ("issuing_subdivision", "issuing_jurisdiction"),
    ("family_name_unicode", "family_name"),
    ("given_name_unicode", "given_name"),
    ("family_name_latin1", "family_name"),
    ("given_name_latin1", "given_name"),
    ("family_name_viz", "family_name"),
    ("given_name_viz", "given_name"),
    ("enrolment_portrait_image", "portrait"),
    ("biometric_template_face", "biometric_template"),
    ("biometric_template_finger", "biometric_template"),
    ("biometric_template_signature_sign", "biometric_template"),
    ("biometric_template_iris", "biometric_template"),
    ("nationalities.0", "nationality"),
    ("full_birth_date", "birth_date"),
];

/// The name of a document, by its types.
pub(super) fn document(types: &[&str], words: &Words) -> String {
    let kind = types.iter().find_map(|one| match *one {
        "org.iso.18013.5.1.mDL" => Some(words.text("driving_licence")),
        "org.iso.23220.photoid.1" | "org.iso.23220.photoID.1" => Some(words.text("photo_id")),
        one if one == "eu.europa.ec.eudi.pid.1" || one.starts_with("urn:eudi:pid:") => {
            Some(words.text("identity_card"))
        }
        "eu.europa.ec.av.1" => Some(words.text("age_proof")),
        _ => None,
    });
    match (kind, types.first()) {
        (Some(kind), _) => kind.to_owned(),
        (None, Some(name)) => words.text("document").replace("{type}", &shortened(name)),
        (None, None) => words.text("any_document").to_owned(),
    }
}

/// The name of a claim for people, by its path. The tenant may name the claim freely, but the
/// wallet is asked for what the path says.
pub(super) fn name_of<'p>(path: impl Iterator<Item = Option<&'p str>>) -> String {
    path.flatten().collect::<Vec<_>>().join(".")
}

/// The name of a claim.
pub(super) fn claim(name: &str, words: &Words) -> String {
    if let Some(age) = age_of(name) {
        return words.text("age_over").replace("{age}", age);
    }
    if let Some(word) = word(name, words) {
        return word.to_owned();
    }
    // A member of a claim that has a name.
    match name.split_once('.').and_then(|(whole, _)| word(whole, words)) {
        Some(whole) => format!("{whole} ({})", shortened(name)),
        None => shortened(name),
    }
}

/// A name, cut to the length that is shown.
pub(super) fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => [name.get(..end).unwrap_or_default(), "…"].concat(),
        None => name.to_owned(),
    }
}

fn word(name: &str, words: &Words) -> Option<&'static str> {
    let alias = ALIASES.iter().find(|(other, _)| *other == name);
    words.claim(alias.map_or(name, |(_, name)| *name))
}

/// The age in a claim such as `age_over_18`.
pub(super) fn age_of(name: &str) -> Option<&str> {
    let age = name.strip_prefix("age_over_").or_else(|| name.strip_prefix("age_equal_or_over."))?;
    (matches!(age.len(), 1..=3) && age.bytes().all(|byte| byte.is_ascii_digit())).then_some(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_names_a_claim_and_is_not_one_itself() {
        let words = Words::english();
        for (alias, name) in ALIASES {
            assert!(words.claim(name).is_some(), "{alias}");
            assert!(words.claim(alias).is_none(), "{alias}");
        }
    }

    #[test]
    fn known_claims_have_texts_and_others_show_their_name() {
        let words = Words::english();
        for (name, shown) in [
            ("given_name", "First name"),
            ("birthdate", "Date of birth"),
            ("age_over_18", "That you are 18 or older"),
            ("age_equal_or_over.21", "That you are 21 or older"),
            ("address.locality", "Town of residence"),
            ("address.floor", "Address (address.floor)"),
            ("age_over_NN", "age_over_NN"),
            ("loyalty_level", "loyalty_level"),
        ] {
            assert_eq!(claim(name, words), shown);
        }
        assert_eq!(claim(&"x".repeat(500), words).chars().count(), MAX_SHOWN_CHARS + 1);
    }

    #[test]
    fn known_documents_have_texts_and_others_show_their_type() {
        let words = Words::english();
        assert_eq!(document(&["org.iso.18013.5.1.mDL"], words), words.text("driving_licence"));
        assert_eq!(document(&["urn:x", "urn:eudi:pid:de:1"], words), words.text("identity_card"));
        assert_eq!(document(&["urn:x"], words), "From this document: urn:x");
        assert_eq!(document(&[], words), words.text("any_document"));
    }
}
