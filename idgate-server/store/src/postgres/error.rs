//! Classifies PostgreSQL's errors.

use std::fmt::Write as _;

use tokio_postgres::error::SqlState;

use super::super::types::StoreError;
pub(crate) use crate::failure::{Done, Failure};

/// The error for work that panicked.
pub(super) fn panicked() -> StoreError {
    StoreError::Failed("the store panicked".into())
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = describe(&error);
        match error.code() {
            Some(code) => of_code(code, text),
            None if is_of_connection(&error) => Self::Store(StoreError::Unavailable(text)),
            None => Self::failed(text),
        }
    }
}

fn of_code(code: &SqlState, text: String) -> Failure {
    match *code {
        // The last one: another statement of the same pipeline failed, and this error does not say
        // how.
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::IN_FAILED_SQL_TRANSACTION => Failure::Again(text),
        SqlState::DISK_FULL => Failure::Store(StoreError::Full),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            Failure::Store(StoreError::Damaged(text))
        }
        _ if is_passing(code) => Failure::Store(StoreError::Unavailable(text)),
        _ => Failure::failed(text),
    }
}

/// Whether the server's state is the cause, not the statement.
fn is_passing(code: &SqlState) -> bool {
    // Connections, cancelled statements, resources, shutdowns and system errors. Also a read-only
    // server: another one has taken over.
    let classes = ["08", "53", "57", "58"];
    let passing = [SqlState::LOCK_NOT_AVAILABLE, SqlState::READ_ONLY_SQL_TRANSACTION];
    classes.iter().any(|class| code.code().starts_with(class)) || passing.contains(code)
}

/// Whether the connection to the server failed.
fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>())
}

/// The server's message without its details, which may quote stored values.
fn describe(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    let mut text = "PostgreSQL: ".to_owned();
    if let Some(of_server) = error.as_db_error() {
        let _ = write!(text, "{} ({})", of_server.message(), of_server.code().code());
        text.push_str(remedy(of_server.code(), of_server.message()).unwrap_or_default());
    } else {
        let _ = write!(text, "{error}");
        if let Some(source) = error.source() {
            let _ = write!(text, ": {source}");
        }
    }
    text
}

/// The remedy if a pooler is the cause, not PostgreSQL.
fn remedy(code: &SqlState, message: &str) -> Option<&'static str> {
    match *code {
        SqlState::PROTOCOL_VIOLATION if message.contains("startup parameter") => Some(
            "; a pooler refuses what idgate asks for when it connects: connect to PostgreSQL \
             directly",
        ),
        SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => Some(
            "; a pooler in transaction mode gives each transaction another connection: connect to \
             PostgreSQL directly, or use its session mode",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_caused_by_a_pooler_name_the_pooler() {
        for (code, message, names) in [
            ("08P01", "unsupported startup parameter: options", true),
            ("08P01", "invalid message", false),
            ("26000", "prepared statement \"s1\" does not exist", true),
            ("42P05", "prepared statement \"s1\" already exists", true),
            ("57P03", "the database system is starting up", false),
        ] {
            let remedy = remedy(&SqlState::from_code(code), message);
            assert_eq!(remedy.is_some_and(|it| it.contains("pooler")), names, "{code} {message}");
        }
    }

    #[test]
    fn temporary_failures_are_told_from_permanent_ones() {
        let of = |code: &str| StoreError::from(of_code(&SqlState::from_code(code), String::new()));
        for code in ["08006", "53300", "57P01", "57P03", "57014", "55P03", "25006", "58030"] {
            assert!(matches!(of(code), StoreError::Unavailable(_)), "{code}");
        }
        assert!(matches!(of("53100"), StoreError::Full));
        assert!(matches!(of("XX001"), StoreError::Damaged(_)));
        for code in ["42P01", "23505", "28P01", "22001"] {
            assert!(matches!(of(code), StoreError::Failed(_)), "{code}");
        }
    }

    #[test]
    fn conflicts_with_another_transaction_are_retried() {
        for code in ["40001", "40P01", "25P02"] {
            let failure = of_code(&SqlState::from_code(code), String::new());
            assert!(matches!(failure, Failure::Again(_)), "{code}");
        }
    }
}
