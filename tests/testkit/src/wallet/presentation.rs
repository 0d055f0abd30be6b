//! An SD-JWT with the disclosures that the holder chose (RFC 9901 4).

use serde_json::Value;

use crate::codec::HashAlg;
use crate::disclosure::{Disclosure, Segment};
use crate::issuer::Issued;

/// A credential with chosen disclosures, without a holder's proof.
#[derive(Clone, Debug)]
pub struct Presentation {
    /// The issuer-signed JWT.
    pub jwt: String,
    /// The texts of the disclosures.
    pub disclosures: Vec<String>,
    /// The hash that the credential names.
    pub hash: HashAlg,
}

impl Presentation {
    /// All disclosures.
    pub fn whole(credential: &Issued) -> Self {
        Self::choosing(credential, |_| true)
    }

    /// The claims of these names from the root, with all their parts.
    pub fn disclosing(credential: &Issued, claims: &[String]) -> Self {
        Self::choosing(credential, |disclosure| {
            disclosure.root_claim().is_some_and(|root| claims.iter().any(|claim| claim == root))
        })
    }

    /// The disclosures that `selector` marks: an object or array that mirrors the credential, with `true`,
    /// or any value that is not empty, false or null, for each value to disclose.
    pub fn selecting(credential: &Issued, selector: &Value) -> Self {
        Self::choosing(credential, |disclosure| is_selected(selector, &disclosure.path))
    }

    /// The disclosures that `choose` accepts.
    pub fn choosing(credential: &Issued, choose: impl Fn(&Disclosure) -> bool) -> Self {
        let chosen = credential.disclosures.iter().filter(|disclosure| choose(disclosure));
        Self {
            jwt: credential.jwt.clone(),
            disclosures: chosen.map(|disclosure| disclosure.text.clone()).collect(),
            hash: credential.hash(),
        }
    }

    /// The text that `sd_hash` covers: up to and including the last tilde.
    pub fn sd_jwt(&self) -> String {
        let mut text = self.jwt.clone();
        for disclosure in &self.disclosures {
            text.push('~');
            text.push_str(disclosure);
        }
        text.push('~');
        text
    }

    /// `sd_hash` of this presentation (RFC 9901 4.3.1).
    pub fn sd_hash(&self) -> String {
        self.hash.digest(&self.sd_jwt())
    }
}

/// The text to present, with or without a key binding JWT.
pub fn present(presentation: &Presentation, kb_jwt: Option<&str>) -> String {
    presentation.sd_jwt() + kb_jwt.unwrap_or_default()
}

fn is_selected(selector: &Value, path: &[Segment]) -> bool {
    let marked = path.iter().try_fold(selector, |selector, segment| match segment {
        Segment::Name(name) => selector.get(name),
        Segment::Index(index) => selector.get(index),
    });
    marked.is_some_and(|mark| match mark {
        Value::Null => false,
        Value::Bool(mark) => *mark,
        Value::Array(parts) => !parts.is_empty(),
        Value::Object(parts) => !parts.is_empty(),
        Value::Number(_) | Value::String(_) => true,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claim::Claim;
    use crate::issuer::CredentialBuilder;
    use crate::keys::{Curve, SigningKey};

    fn credential() -> Issued {
        let nationalities = Claim::array().sd_element("DE").sd_element("FR");
        CredentialBuilder::new()
            .sd("given_name", "Erika")
            .plain("nationalities", nationalities)
            .issue(&SigningKey::from_seed(Curve::P256, "issuer"))
    }

    #[test]
    fn a_selector_chooses_members_and_elements() {
        let credential = credential();
        let chosen = |selector: Value| Presentation::selecting(&credential, &selector).disclosures;
        assert_eq!(chosen(json!({"nationalities": [false, true]})).len(), 1);
        assert_eq!(chosen(json!({"given_name": true, "nationalities": [true]})).len(), 2);
        assert_eq!(chosen(json!({"given_name": null, "nationalities": true})).len(), 0);
    }

    #[test]
    fn the_text_is_joined_by_tildes_and_ends_in_one() {
        let presentation = Presentation::whole(&credential());
        let text = present(&presentation, None);
        assert_eq!(text.matches('~').count(), 4);
        assert!(text.ends_with('~') && text.starts_with(&presentation.jwt));
        assert_eq!(present(&presentation, Some("kb")), text + "kb");
    }
}
