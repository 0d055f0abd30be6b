//! The SQL text of every use case is a valid statement on both databases, with the same parameters
//! and columns.

use std::fs;
use std::path::{Path, PathBuf};

use crate::conformance::{Backend as _, PostgresDatabase};
use crate::db::{of_postgres, of_sqlite};
use crate::seal::InstanceKey;
use crate::sqlite::schema;
use crate::version_numbers::Numbers;

/// The minimum number of texts. Fewer would mean that they are written in a form that this test
/// misses.
const AT_LEAST: usize = 40;

/// Every text passed to `sql(…)` in the sources of the store.
fn texts() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("db.rs") {
                let source = fs::read_to_string(&path).unwrap();
                found.extend(texts_in(&path, &source).into_iter().map(|text| (path.clone(), text)));
            }
        }
    }
    assert!(found.len() >= AT_LEAST, "{} texts", found.len());
    found
}

/// The literals passed to `sql(…)` in a source file, and the one constant.
fn texts_in(path: &Path, source: &str) -> Vec<String> {
    let is_call = |at: &usize| {
        let before = source[..*at].chars().next_back();
        before.is_none_or(|it| !it.is_alphanumeric() && it != '_' && it != ':')
    };
    let calls = source.match_indices("sql(").map(|(at, _)| at).filter(is_call);
    calls
        .map(|at| {
            let given = source[at + "sql(".len()..].trim_start();
            match given.strip_prefix('"') {
                Some(literal) => unescaped(literal),
                None if given.starts_with("concat!(") => joined(&given["concat!(".len()..]),
                None if given.starts_with("Self::TEXT)") => Numbers::TEXT.to_owned(),
                None => panic!("{}: `sql(` is followed by no literal", path.display()),
            }
        })
        .collect()
}

/// The literals with the columns of [`Numbers`] between them, as `concat!` joins them.
fn joined(given: &str) -> String {
    let columns = Numbers::TEXT.strip_prefix("SELECT ").unwrap();
    let (mut text, mut rest) = (String::new(), given.trim_start());
    while !rest.starts_with(')') {
        if let Some(literal) = rest.strip_prefix('"') {
            text.push_str(&unescaped(literal));
            let end = literal.match_indices('"').find(|(at, _)| !literal[..*at].ends_with('\\'));
            rest = &literal[end.unwrap().0 + 1..];
        } else {
            rest = rest.strip_prefix("numbers!()").unwrap();
            text.push_str(columns);
        }
        rest = rest.trim_start().trim_start_matches(',').trim_start();
    }
    text
}

/// The text of a string literal up to its closing quote.
fn unescaped(literal: &str) -> String {
    let (mut text, mut rest) = (String::new(), literal.chars().peekable());
    loop {
        match rest.next().unwrap() {
            '"' => return text,
            '\\' => match rest.next().unwrap() {
                '\n' => while rest.next_if(|it| it.is_whitespace()).is_some() {},
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

#[test]
fn each_sql_text_is_a_statement_on_both_databases() {
    let dir = tempfile::tempdir().unwrap();
    let key = InstanceKey::generate().unwrap();
    let main = schema::open_main(dir.path(), &key).unwrap();
    let database = PostgresDatabase::is_there().then(PostgresDatabase::new);
    for (path, text) in texts() {
        let in_sqlite = main.prepare(&of_sqlite(&text));
        let in_sqlite = in_sqlite.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let Some(database) = &database else { continue };
        let in_postgres = database.prepare(&of_postgres(&text));
        let in_postgres = in_postgres.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let shape = (in_sqlite.parameter_count(), in_sqlite.column_count());
        assert_eq!(shape, in_postgres, "{}: {text}", path.display());
    }
}

/// There can be many notifications and checkpoints: each statement must find its rows by an index.
#[test]
fn no_sql_text_scans_all_notifications_or_checkpoints_in_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let main = schema::open_main(dir.path(), &InstanceKey::generate().unwrap()).unwrap();
    for (path, text) in texts() {
        let grows = text.contains("webhook_deliveries") || text.contains("audit_checkpoints");
        if !grows {
            continue;
        }
        let plan = format!("EXPLAIN QUERY PLAN {}", of_sqlite(&text));
        let mut plan = main.prepare(&plan).unwrap();
        let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3)).map(Result::unwrap);
        let walks = ["webhook_deliveries", "audit_checkpoints", "d", "f", "o"];
        for step in steps {
            let walked = step.strip_prefix("SCAN ").is_some_and(|of| walks.contains(&of));
            assert!(!walked, "{}: {step}: {text}", path.display());
        }
    }
}
