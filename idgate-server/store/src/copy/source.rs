//! Reads rows of a data directory as JSON, which PostgreSQL parses by the types of its columns.
//! Binary values are hex after `\x`.

use std::borrow::Cow;
use std::fmt::Write as _;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::super::types::StoreError;
use crate::copied_tables::{Batch, Table};

/// Rows per statement.
const ROWS: usize = 500;
/// JSON bytes per statement: a logo or a list of revoked certificates can be large.
const BYTES: usize = 1 << 20;

/// Older versions accepted NUL in a client's name for a key. PostgreSQL text cannot hold NUL, so
/// the copy leaves it out.
const ONCE_WITH_NUL: (&str, &str) = ("api_keys", "name");

/// Passes all rows of a table to `take`, in batches. Returns how many there are.
pub(crate) fn each_batch(
    on: &Connection,
    table: &Table,
    take: &mut dyn FnMut(&Batch) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let (mut statement, columns) = (on.prepare(&table.select())?, table.columns());
    let mut found = statement.query([])?;
    let mut batch = Batch { json: String::new(), rows: 0 };
    let mut all = 0_u64;
    while let Some(row) = found.next()? {
        batch.json.push(if batch.rows == 0 { '[' } else { ',' });
        for (at, column) in columns.iter().enumerate() {
            let opening = if at == 0 { '{' } else { ',' };
            let _ = write!(batch.json, "{opening}\"{column}\":");
            write_value(&mut batch.json, row.get_ref(at)?, (table, column))?;
        }
        batch.json.push('}');
        batch.rows += 1;
        all = all.saturating_add(1);
        if batch.rows == ROWS || batch.json.len() > BYTES {
            give(&mut batch, take)?;
        }
    }
    if batch.rows > 0 {
        give(&mut batch, take)?;
    }
    Ok(all)
}

fn give(
    batch: &mut Batch,
    take: &mut dyn FnMut(&Batch) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    batch.json.push(']');
    take(batch)?;
    batch.json.clear();
    batch.rows = 0;
    Ok(())
}

fn write_value(
    json: &mut String,
    value: ValueRef<'_>,
    (table, column): (&Table, &str),
) -> Result<(), StoreError> {
    let strange = |what: &str| {
        StoreError::Damaged(format!(
            "a row of {} has {what}, which idgate never writes",
            table.name
        ))
    };
    match value {
        ValueRef::Null => json.push_str("null"),
        ValueRef::Integer(number) => {
            let _ = write!(json, "{number}");
        }
        ValueRef::Real(_) => return Err(strange("a fraction")),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| strange("text that is not UTF-8"))?;
            let text = match text.contains('\0') {
                true if (table.name, column) == ONCE_WITH_NUL => Cow::Owned(text.replace('\0', "")),
                true => return Err(strange("a NUL in a text")),
                false => Cow::Borrowed(text),
            };
            let quoted = serde_json::to_string(&text).map_err(|_| strange("text"))?;
            json.push_str(&quoted);
        }
        ValueRef::Blob(bytes) => {
            json.push_str("\"\\\\x");
            for byte in bytes {
                let _ = write!(json, "{byte:02x}");
            }
            json.push('"');
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::copied_tables::table;

    const TABLE: Table = table("t", "a", "a, b");

    fn rows_of(values: &str) -> Result<Vec<Batch>, StoreError> {
        rows_in(&TABLE, values)
    }

    fn rows_in(table: &Table, values: &str) -> Result<Vec<Batch>, StoreError> {
        let database = Connection::open_in_memory().unwrap();
        let (name, columns) = (table.name, table.columns().join(", "));
        database.execute_batch(&format!("CREATE TABLE {name} ({columns})")).unwrap();
        database.execute_batch(&format!("INSERT INTO {name} VALUES {values}")).unwrap();
        let mut batches = Vec::new();
        each_batch(&database, table, &mut |batch| {
            batches.push(batch.clone());
            Ok(())
        })?;
        Ok(batches)
    }

    #[test]
    fn a_row_is_an_object_and_bytes_are_hex() {
        let batches = rows_of(r#"(1, 'a"b\c'), (NULL, x'00ff'), (-5, '{"x":1}')"#).unwrap();
        assert_eq!(batches.len(), 1);
        let json = batches.first().unwrap().json.as_str();
        let read: serde_json::Value = serde_json::from_str(json).unwrap();
        let expected = serde_json::json!([
            { "a": 1, "b": "a\"b\\c" },
            { "a": null, "b": "\\x00ff" },
            { "a": -5, "b": "{\"x\":1}" },
        ]);
        assert_eq!(read, expected);
    }

    #[test]
    fn many_or_large_rows_are_read_in_batches() {
        let many = vec!["(1, 2)"; ROWS + 1].join(",");
        let rows: Vec<usize> = rows_of(&many).unwrap().iter().map(|batch| batch.rows).collect();
        assert_eq!(rows, [ROWS, 1]);
        let large = format!("(1, zeroblob({BYTES})), (2, 3)");
        assert_eq!(rows_of(&large).unwrap().len(), 2);
    }

    #[test]
    fn a_key_name_is_read_without_its_nul() {
        let keys = table("api_keys", "id", "id, name");
        let batches = rows_in(&keys, "('key_1', CAST(x'610062' AS TEXT))").unwrap();
        assert_eq!(batches.first().unwrap().json, r#"[{"id":"key_1","name":"ab"}]"#);
        let strange = rows_in(&keys, "(CAST(x'610062' AS TEXT), 'name')");
        assert!(matches!(strange, Err(StoreError::Damaged(_))));
    }

    #[test]
    fn values_that_idgate_never_writes_are_rejected() {
        for strange in ["(1.5, 1)", "(1, CAST(x'ff' AS TEXT))", "(1, CAST(x'6100' AS TEXT))"] {
            assert!(matches!(rows_of(strange), Err(StoreError::Damaged(_))), "{strange}");
        }
    }
}
