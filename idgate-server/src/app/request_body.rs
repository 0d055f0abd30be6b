//! The JSON body of a tenant's request: an object without unknown members.

use idgate_core::ErrorCode;
use idgate_core::error::RequestError;
use idgate_core::shell::json::{Tape, Value};

/// Reads `body` into `tape`: an object with no members other than those in `known`.
pub(super) fn read<'t, 'a>(
    tape: &'t mut Tape<'a>,
    body: &'a [u8],
    known: &[&str],
) -> Result<Value<'t, 'a>, RequestError> {
    let root = tape.parse_explaining(body);
    let root = root.map_err(|why| RequestError::new(ErrorCode::InvalidJson, "", why))?;
    let root = tape.value(root);
    let members = root
        .members()
        .ok_or_else(|| RequestError::new(ErrorCode::InvalidRequest, "", "must be a JSON object"))?;
    for (name, _) in members {
        if !known.iter().any(|known| name.is(known)) {
            let path: String = name.unescape().chars().take(64).collect();
            let rule = "is not a field of this request; remove it";
            return Err(RequestError::new(ErrorCode::UnknownField, path, rule));
        }
    }
    Ok(root)
}
