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
    pub(super) back: &'static str,
    /// In the order of [`CLAIMS`].
    pub(super) claims: [&'static str; CLAIMS.len()],
}
