//! Claims path pointers on the processed payload of an SD-JWT VC (OpenID4VP 7.1.1): selects
//! disclosed values by path.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::codec::json::{Kind, Value};
use crate::formats::sd_jwt_vc::ProcessedPayload;
use crate::ids::ClaimPath;

/// The selected values; never empty.
pub(super) enum Selected<'t, 'a> {
    /// For a path of names: the value at its end.
    One(Value<'t, 'a>),
    /// For a path with `null`: all values found, in the order of the payload.
    Several(Vec<Value<'t, 'a>>),
}

impl Selected<'_, '_> {
    /// Writes the value, or an array of the values, as JSON.
    pub(super) fn write(&self, payload: &ProcessedPayload<'_, '_>, out: &mut String) {
        match self {
            Self::One(value) => payload.write(*value, out),
            Self::Several(values) => {
                let mut separator = '[';
                for value in values {
                    out.push(separator);
                    separator = ',';
                    payload.write(*value, out);
                }
                out.push(']');
            }
        }
    }
}

/// Selects the values at `path`. `None`: the path does not fit the payload, or nothing at its end
/// was disclosed. Some elements of an array are enough: holders may hide the others.
pub(super) fn select<'t, 'a>(
    payload: &ProcessedPayload<'t, 'a>,
    path: &ClaimPath,
) -> Option<Selected<'t, 'a>> {
    let mut components = path.components();
    let mut selected = vec![payload.get(components.next()??)?];
    for component in components {
        selected = match component {
            Some(name) => members(payload, &selected, name)?,
            None => elements(payload, &selected)?,
        };
    }
    selected.retain(|value| !payload.is_withheld(*value));
    match (path.selects_several(), selected.as_slice()) {
        (_, []) => None,
        (false, [only]) => Some(Selected::One(*only)),
        _ => Some(Selected::Several(selected)),
    }
}

/// The member with that name of each value. All values must be objects; one without the member is
/// dropped.
fn members<'t, 'a>(
    payload: &ProcessedPayload<'t, 'a>,
    selected: &[Value<'t, 'a>],
    name: &str,
) -> Option<Vec<Value<'t, 'a>>> {
    let all_objects = selected.iter().all(|value| value.kind() == Kind::Object);
    let found = || selected.iter().filter_map(|value| payload.member(*value, name)).collect();
    all_objects.then(found)
}

/// The disclosed elements of all values, which must be arrays.
fn elements<'t, 'a>(
    payload: &ProcessedPayload<'t, 'a>,
    selected: &[Value<'t, 'a>],
) -> Option<Vec<Value<'t, 'a>>> {
    let all_arrays = selected.iter().all(|value| value.kind() == Kind::Array);
    let found = || selected.iter().flat_map(|value| payload.elements(*value)).collect();
    all_arrays.then(found)
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod tests;
