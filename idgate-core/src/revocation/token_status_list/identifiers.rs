//! Identifier lists (ISO/IEC 18013-5 second edition 12.3.6.4): the identifiers of all revoked
//! mdocs.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::context::unknown;
use crate::codec::cbor::Value;
use crate::error::VerifyError;
use crate::work;

/// The identifiers in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Identifiers {
    sorted: Vec<Box<[u8]>>,
}

impl Identifiers {
    /// Reads the IdentifierList claim: `identifiers` maps byte strings to maps. Those maps are
    /// reserved for future use. A key or value of another type never counts as absent.
    pub(super) fn read(list: Value<'_, '_>) -> Result<Self, VerifyError> {
        let entries = list
            .get("identifiers")
            .and_then(Value::entries)
            .ok_or(unknown("identifiers of the identifier list is not a map"))?;
        let mut sorted = Vec::new();
        for (identifier, info) in entries {
            let identifier = identifier
                .as_bytes()
                .ok_or(unknown("an identifier of the identifier list is not a byte string"))?;
            if info.entries().is_none() {
                return Err(unknown("an identifier of the identifier list has no map"));
            }
            work::steps(identifier.len());
            sorted.push(identifier.into_owned().into_boxed_slice());
        }
        sorted.sort_unstable();
        Ok(Self { sorted })
    }

    /// Whether the list revokes the mdoc with this identifier.
    pub(super) fn contains(&self, identifier: &[u8]) -> bool {
        self.sorted.binary_search_by(|own| (**own).cmp(identifier)).is_ok()
    }

    /// Roughly the memory that it takes, in bytes.
    pub(super) fn weight(&self) -> usize {
        let each = size_of::<Box<[u8]>>().saturating_add(16);
        let bytes = self.sorted.iter().map(|identifier| identifier.len());
        bytes.fold(0, |sum, len| sum.saturating_add(len).saturating_add(each))
    }

    /// The number of identifiers.
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }
}
