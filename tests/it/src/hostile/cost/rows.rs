//! The parsers, one row each.

mod answers;
mod browsers;
mod codecs;
mod creation;
mod dcql;
mod iso_mdoc;
mod lists;
mod mdoc;
mod sd_jwt;
mod status;
mod trusted_list;
mod x509;
mod x5c;

use super::Row;

/// Every parser of data that a stranger sends, or that comes from a host which a stranger names.
pub(super) const TABLE: &[fn() -> Row] = &[
    codecs::json,
    codecs::cbor,
    codecs::form,
    codecs::jwk,
    x509::certificate,
    x509::x5chain,
    x509::crl,
    lists::master_list,
    lists::vical,
    trusted_list::trusted_list,
    status::jwt,
    status::cwt,
    status::identifiers,
    sd_jwt::presentation,
    sd_jwt::key_binding,
    x5c::x5c,
    mdoc::device_response,
    mdoc::mobile_security_object,
    mdoc::document,
    answers::form,
    answers::json,
    answers::jwe,
    dcql::answer,
    browsers::envelope,
    browsers::payload,
    browsers::origins,
    browsers::mdoc,
    iso_mdoc::answers,
    creation::body,
];
