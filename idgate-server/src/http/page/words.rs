//! What pages say, one file for each language.

mod de;
mod en;
mod es;
mod fr;
mod it;

pub(super) use self::en::EN;

/// Claims that have words, by the name that stands for all of its kind, in the order of each language.
pub(super) const CLAIMS: [&str; 43] = [
    "family_name",
    "given_name",
    "birth_date",
    "age_in_years",
    "age_birth_year",
    "family_name_birth",
    "given_name_birth",
    "birth_place",
    "birth_country",
    "birth_state",
    "birth_city",
    "resident_address",
    "resident_country",
    "resident_state",
    "resident_city",
    "resident_postal_code",
    "resident_street",
    "resident_house_number",
    "sex",
    "nationality",
    "portrait",
    "portrait_capture_date",
    "email_address",
    "mobile_phone_number",
    "document_number",
    "personal_administrative_number",
    "issue_date",
    "expiry_date",
    "issuing_authority",
    "issuing_country",
    "issuing_jurisdiction",
    "un_distinguishing_sign",
    "driving_privileges",
    "height",
    "weight",
    "eye_colour",
    "hair_colour",
    "signature_usual_mark",
    "family_name_national_character",
    "given_name_national_character",
    "travel_document_number",
    "person_id",
    "biometric_template",
];

/// Every language.
pub(super) const ALL: [&Words; 5] = [&EN, &de::DE, &fr::FR, &es::ES, &it::IT];

/// A title and a text.
type Notice = (&'static str, &'static str);

/// What pages say in one language. `{name}` is the client's, `{age}` a number, `{type}` a type.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Words {
    /// ISO 639-1
    pub(super) code: &'static str,
    pub(super) title: &'static str,
    pub(super) asks: &'static str,
    pub(super) why: &'static str,
    pub(super) test: &'static str,
    /// Headings of what is asked.
    pub(super) identity_card: &'static str,
    pub(super) driving_licence: &'static str,
    pub(super) photo_id: &'static str,
    pub(super) document: &'static str,
    pub(super) any_document: &'static str,
    /// What is asked when no claim is.
    pub(super) nothing: &'static str,
    pub(super) age_over: &'static str,
    /// The ways to a wallet.
    pub(super) browser: &'static str,
    pub(super) choose: &'static str,
    pub(super) cancelled: &'static str,
    /// The wallet gave an answer, and the gateway did not say that it has it.
    pub(super) failed: &'static str,
    pub(super) here: &'static str,
    pub(super) open: &'static str,
    pub(super) others: &'static str,
    pub(super) elsewhere: &'static str,
    pub(super) scan: &'static str,
    pub(super) code_name: &'static str,
    pub(super) left: &'static str,
    pub(super) refresh: &'static str,
    pub(super) offline: &'static str,
    /// How it stands.
    pub(super) checking: Notice,
    pub(super) done: Notice,
    pub(super) refused: Notice,
    pub(super) over: Notice,
    pub(super) taken: Notice,
    pub(super) gone: Notice,
    /// What stands there instead of the page: it was asked for too often, or the gateway cannot.
    pub(super) busy: Notice,
    pub(super) unavailable: Notice,
    pub(super) back: &'static str,
    /// In the order of [`CLAIMS`].
    pub(super) claims: [&'static str; CLAIMS.len()],
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that another language has as English has them.
    const SAME: [(&str, &str); 2] = [("fr", "Photo"), ("fr", "Signature")];

    /// Every text of a language with its name. A new one is asked for by the compiler.
    fn texts(words: &Words) -> Vec<(&'static str, &'static str)> {
        let Words {
            code,
            title,
            asks,
            why,
            test,
            identity_card,
            driving_licence,
            photo_id,
            document,
            any_document,
            nothing,
            age_over,
            browser,
            choose,
            cancelled,
            failed,
            here,
            open,
            others,
            elsewhere,
            scan,
            code_name,
            left,
            refresh,
            offline,
            checking,
            done,
            refused,
            over,
            taken,
            gone,
            busy,
            unavailable,
            back,
            claims,
        } = *words;
        let mut all = vec![
            ("code", code),
            ("title", title),
            ("asks", asks),
            ("why", why),
            ("test", test),
            ("identity_card", identity_card),
            ("driving_licence", driving_licence),
            ("photo_id", photo_id),
            ("document", document),
            ("any_document", any_document),
            ("nothing", nothing),
            ("age_over", age_over),
            ("browser", browser),
            ("choose", choose),
            ("cancelled", cancelled),
            ("failed", failed),
            ("here", here),
            ("open", open),
            ("others", others),
            ("elsewhere", elsewhere),
            ("scan", scan),
            ("code_name", code_name),
            ("left", left),
            ("refresh", refresh),
            ("offline", offline),
            ("back", back),
        ];
        for (name, (title, text)) in [
            ("checking", checking),
            ("done", done),
            ("refused", refused),
            ("over", over),
            ("taken", taken),
            ("gone", gone),
            ("busy", busy),
            ("unavailable", unavailable),
        ] {
            all.extend([(name, title), (name, text)]);
        }
        all.extend(CLAIMS.into_iter().zip(claims));
        all
    }

    /// What is filled in, as often as it is there.
    fn placeholders(text: &str) -> Vec<&str> {
        let mut found: Vec<_> =
            text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn no_language_lacks_a_word_or_a_name_to_fill_in() {
        let english = texts(&EN);
        for words in ALL {
            for ((name, text), (_, as_english)) in texts(words).into_iter().zip(&english) {
                let what = format!("{} {name}: {text}", words.code);
                assert!(!text.trim().is_empty(), "{what}");
                assert_eq!(placeholders(text), placeholders(as_english), "{what}");
                let is_same = words.code == "en" || SAME.contains(&(words.code, text));
                assert_eq!(text == *as_english, is_same, "{what}");
            }
        }
    }
}
