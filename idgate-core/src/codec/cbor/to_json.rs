//! CBOR values as JSON text: byte strings as unpadded base64url, tags dropped.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use super::{Kind, Value};
use crate::codec::base64url;
use crate::work;

/// The error for a value without a JSON form: a key that is not text, NaN or an infinity,
/// `undefined` or another simple value, an integer beyond 64 bits, a date that is not text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub(crate) struct NotJson;

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("has a CBOR value that JSON cannot represent")
    }
}

impl core::error::Error for NotJson {}

/// RFC 8949 3.4.1: tdate, a date and time as text.
const TDATE: u64 = 0;
/// RFC 8943 3.2: full-date as text.
const FULL_DATE: u64 = 1004;
/// RFC 8949 3.4.3: an unsigned integer as bytes.
const BIGNUM: u64 = 2;
/// RFC 8949 3.4.3: a negative integer as bytes.
const NEGATIVE_BIGNUM: u64 = 3;

/// Appends `value` as JSON.
///
/// # Errors
/// The value has no JSON form; `out` may then hold a part of it.
pub(crate) fn write_json(value: Value<'_, '_>, out: &mut String) -> Result<(), NotJson> {
    match value.kind() {
        Kind::Unsigned => write_integer(false, value.node().argument, out),
        Kind::Negative => write_integer(true, value.node().argument, out),
        Kind::Float => write_float(value.as_f64().ok_or(NotJson)?, out),
        Kind::Bytes => write_bytes(&value.as_bytes().ok_or(NotJson)?, out),
        Kind::Text => write_text(value, out),
        Kind::Simple => write_simple(value, out),
        Kind::Array => write_array(value, out),
        Kind::Map => write_map(value, out),
        Kind::Tag => write_tagged(value, out),
    }
}

/// `argument`, or -1 - `argument`; both must fit into 64 bits.
fn write_integer(negative: bool, argument: u64, out: &mut String) -> Result<(), NotJson> {
    let written = if negative {
        let argument = i64::try_from(argument).map_err(|_| NotJson)?;
        write!(out, "{}", -1 - argument)
    } else {
        write!(out, "{argument}")
    };
    written.map_err(|_| NotJson)
}

/// With a point or an exponent, so that it stays a float.
fn write_float(value: f64, out: &mut String) -> Result<(), NotJson> {
    if !value.is_finite() {
        return Err(NotJson);
    }
    write!(out, "{value:?}").map_err(|_| NotJson)
}

fn write_bytes(bytes: &[u8], out: &mut String) -> Result<(), NotJson> {
    out.push('"');
    out.push_str(&base64url::encode(bytes));
    out.push('"');
    Ok(())
}

fn write_text(value: Value<'_, '_>, out: &mut String) -> Result<(), NotJson> {
    write_string(&value.as_text().ok_or(NotJson)?, out);
    Ok(())
}

/// A JSON string literal (RFC 8259 7).
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    work::steps(4 + text.len());
    let mut rest = text;
    let special = |c: char| c < ' ' || c == '"' || c == '\\';
    while let Some((before, found)) = rest.find(special).and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let mut after = found.chars();
        match after.next() {
            Some(c @ ('"' | '\\')) => out.extend(['\\', c]),
            Some(c) => {
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            None => {}
        }
        rest = after.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn write_simple(value: Value<'_, '_>, out: &mut String) -> Result<(), NotJson> {
    out.push_str(match value.as_bool() {
        Some(true) => "true",
        Some(false) => "false",
        None if value.is_null() => "null",
        None => return Err(NotJson),
    });
    Ok(())
}

fn write_array(value: Value<'_, '_>, out: &mut String) -> Result<(), NotJson> {
    out.push('[');
    for (at, element) in value.elements().ok_or(NotJson)?.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_json(element, out)?;
    }
    out.push(']');
    Ok(())
}

fn write_map(value: Value<'_, '_>, out: &mut String) -> Result<(), NotJson> {
    out.push('{');
    for (at, (key, value)) in value.entries().ok_or(NotJson)?.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_text(key, out)?;
        out.push(':');
        write_json(value, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_tagged(value: Value<'_, '_>, out: &mut String) -> Result<(), NotJson> {
    match value.as_tagged().ok_or(NotJson)? {
        (TDATE | FULL_DATE, content) => write_text(content, out),
        (tag @ (BIGNUM | NEGATIVE_BIGNUM), content) => {
            let bytes: Vec<u8> = content.as_bytes().ok_or(NotJson)?.into_owned();
            let digits = bytes.iter().skip_while(|byte| **byte == 0);
            if digits.clone().count() > 8 {
                return Err(NotJson);
            }
            let argument = digits.fold(0, |n, byte| n << 8 | u64::from(*byte));
            write_integer(tag == NEGATIVE_BIGNUM, argument, out)
        }
        (_, content) => write_json(content, out),
    }
}
