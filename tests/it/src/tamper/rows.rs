//! The table, by the part of the answer that is changed.

mod disclosures;
mod issuer_claims;
mod issuer_jwt;
mod kb_jwt;
mod parameters;
mod signatures;
mod structure;
mod submission;
mod x5c;

use crate::tamper::Row;

/// Every row.
pub fn rows() -> Vec<Row> {
    [presentation_rows(), parameters::rows()].concat()
}

/// The rows that change the wallet's presentation, however it is sent.
pub fn presentation_rows() -> Vec<Row> {
    [credential_rows(), submission::rows()].concat()
}

/// The rows that change the presentation of one credential, whatever it answers.
pub fn credential_rows() -> Vec<Row> {
    [
        kb_jwt::rows(),
        issuer_jwt::rows(),
        issuer_claims::rows(),
        disclosures::rows(),
        structure::rows(),
        x5c::rows(),
    ]
    .concat()
}

/// The rows that change a plain answer's parameters and their encoding.
pub fn parameter_rows() -> Vec<Row> {
    parameters::rows()
}
