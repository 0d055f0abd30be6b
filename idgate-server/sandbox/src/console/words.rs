//! Texts for requests: documents, claims and profiles.

use crate::memory::{Asked, AskedCredential, Remembered};
use idgate_core::Profile;
use idgate_store::SessionLine;

/// Number of claims in a title.
const IN_TITLE: usize = 3;

/// Describes the request of a session in one line.
pub(super) fn title(line: &SessionLine, remembered: &Remembered) -> String {
    match &remembered.asked {
        Some(asked) if !asked.credentials.is_empty() => {
            let all: Vec<String> = asked.credentials.iter().map(title_of).collect();
            all.join("; ")
        }
        _ => format!("{} of {}", formats(line), line.issuer_ids.join(", ")),
    }
}

fn title_of(asked: &AskedCredential) -> String {
    let shown: Vec<String> = asked.claims.iter().take(IN_TITLE).map(|name| claim(name)).collect();
    let rest = asked.claims.len().saturating_sub(shown.len());
    let document = document(&asked.kind);
    match (shown.is_empty(), rest) {
        (true, _) => document,
        (false, 0) => format!("{document}: {}", shown.join(", ")),
        (false, rest) => format!("{document}: {} and {rest} more", shown.join(", ")),
    }
}

/// The name of a document type.
pub(super) fn document(kind: &str) -> String {
    let name = match kind {
        "org.iso.18013.5.1.mDL" => "Driving licence",
        "eu.europa.ec.eudi.pid.1" => "Identity",
        "eu.europa.ec.av.1" => "Proof of age",
        kind if kind.starts_with("urn:eudi:pid:") => "Identity",
        kind if kind.starts_with("urn:idgate:sandbox:membership:") => "Membership card",
        "" => "Document",
        other => other,
    };
    name.to_owned()
}

/// The name of a claim.
pub(super) fn claim(name: &str) -> String {
    match name {
        "given_name" => "first name".into(),
        "family_name" => "last name".into(),
        "birth_date" | "birthdate" => "date of birth".into(),
        _ => match name.strip_prefix("age_over_") {
            Some(age) if age.bytes().all(|byte| byte.is_ascii_digit()) => format!("{age} or older"),
            _ => name.replace('_', " "),
        },
    }
}

/// Capitalizes the first letter.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), chars.as_str())
}

pub(super) fn format_name(format: &str) -> &str {
    match format {
        "mso_mdoc" => "mdoc",
        _ => "SD-JWT VC",
    }
}

/// The formats of a session, without repetition.
pub(super) fn formats(line: &SessionLine) -> String {
    let mut names: Vec<&str> = line.formats.iter().map(|format| format_name(format)).collect();
    names.dedup();
    names.join(", ")
}

/// The profile of the request, and how it reaches the wallet.
pub(super) fn speaks(asked: &Asked) -> String {
    let name = match asked.profile {
        Profile::Haip => "HAIP 1.0",
        Profile::V1_0 => "OpenID4VP 1.0",
        _ => "OpenID4VP draft",
    };
    let way = if asked.by_reference { "by reference" } else { "by value" };
    format!("{name}, {way}{}", if asked.is_encrypted { ", encrypted" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_claims_and_documents_have_names_and_unknown_ones_show_their_identifiers() {
        assert_eq!(claim("age_over_18"), "18 or older");
        assert_eq!(claim("age_over_x"), "age over x");
        assert_eq!(claim("given_name"), "first name");
        assert_eq!(document("urn:eudi:pid:de:1"), "Identity");
        assert_eq!(document("urn:other:1"), "urn:other:1");
        let claims = ["given_name", "a", "b", "c", "d"].map(String::from).to_vec();
        let (format, issuer_id) = ("mso_mdoc", String::new());
        let asked = AskedCredential { format, kind: String::new(), issuer_id, claims };
        assert_eq!(title_of(&asked), "Document: first name, a, b and 2 more");
    }
}
