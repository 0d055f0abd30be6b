//! The tables to copy, each after the tables that it references. Both stores use the same column
//! names, except for the order of creation: SQLite has its row number, and PostgreSQL has a column.

/// Rows of one table.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// A JSON array of objects.
    pub(crate) json: String,
    pub(crate) rows: usize,
}

/// A table and how it is copied.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The columns that identify a row.
    pub(crate) key: &'static str,
    /// The columns in SQLite, each under the name of the column that receives it.
    columns: &'static str,
    /// The table or join in SQLite.
    from: &'static str,
    /// The column whose sequence must continue after the copied values.
    pub(crate) counted: Option<&'static str>,
    /// Rows that exist from the start are replaced.
    pub(crate) replaces: bool,
}

impl Table {
    /// The columns in PostgreSQL.
    pub(crate) fn columns(&self) -> Vec<&'static str> {
        let name = |given: &'static str| given.rsplit_once(" AS ").map_or(given, |(_, name)| name);
        self.columns.split(", ").map(name).collect()
    }

    /// The statement that reads the table from SQLite.
    pub(crate) fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.columns, self.from)
    }
}

pub(super) const fn table(name: &'static str, key: &'static str, columns: &'static str) -> Table {
    Table { name, key, columns, from: name, counted: None, replaces: false }
}

const fn from(table: Table, from: &'static str) -> Table {
    Table { from, ..table }
}

const fn counted(table: Table, column: &'static str) -> Table {
    Table { counted: Some(column), ..table }
}

const fn replacing(table: Table) -> Table {
    Table { replaces: true, ..table }
}

/// Session keys, which are in a file of their own. Keys of settled sessions may still be there if a
/// gateway stopped between two commits; the next start removes them.
pub(crate) const SESSION_KEYS: Table = from(
    table("session_keys", "session_id", "session_id, sealed"),
    "claims.session_keys AS k WHERE EXISTS (SELECT 1 FROM sessions AS s WHERE \
     s.id = k.session_id AND s.settled_at IS NULL)",
);

/// The results of sessions, and until when they can be read.
pub(crate) const RESULTS: &str = "SELECT r.session_id, r.redact_at FROM claims.results AS r \
     JOIN sessions AS s ON s.id = r.session_id AND s.status = 'VERIFIED'";

/// All tables of the main database.
pub(crate) const TABLES: &[Table] = &[
    // The database's own id is not copied: it identifies files.
    replacing(from(
        table("instance", "name", "name, sealed"),
        "instance WHERE name <> 'database_id'",
    )),
    counted(
        table(
            "clients",
            "id",
            "rowid AS seq, id, name, livemode, signing_secret, created_at, revoked_at, \
             max_keys, max_open_sessions, logo, logo_type, accent, privacy_url, help_url",
        ),
        "seq",
    ),
    table("client_origins", "client_id, origin", "client_id, origin, added_at"),
    counted(
        table(
            "api_keys",
            "id",
            "rowid AS seq, id, client_id, digest, hint, name, scopes, livemode, \
             created_at, expires_at, last_used_at, revoked_at",
        ),
        "seq",
    ),
    counted(
        table("admin_tokens", "id", "rowid AS seq, id, name, digest, created_at, revoked_at"),
        "seq",
    ),
    table(
        "sessions",
        "id",
        "id, client_id, livemode, status, revision, created_at, expires_at, \
         lease_until, settled_at, reason, latency_ms, processing_us, formats, \
         issuer_ids, record, events, parent_span",
    ),
    // Counted in the way that a gateway counts them at its start.
    from(
        table("open_sessions", "client_id", "client_id, count(*) AS count"),
        "sessions WHERE settled_at IS NULL GROUP BY client_id",
    ),
    table("offers", "id", "id, session_id"),
    table("pages", "digest", "digest, session_id, sealed, browser, is_opened, notes, phone, moves"),
    table(
        "idempotent_answers",
        "client_id, key",
        "client_id, key, body, session_id, created_at, sealed",
    ),
    table("reports", "session_id", "session_id, refused_at, sealed"),
    table("audit_entries", "client_id, seq", "client_id, seq, fields, prev_hash, entry_hash"),
    table(
        "audit_heads",
        "client_id",
        "client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac",
    ),
    table("audit_checkpoints", "client_id, seq", "client_id, seq, signed, written"),
    table("audit_removals", "client_id", "client_id, signed"),
    table("left_out", "session_id", "session_id"),
    table(
        "trust_entries",
        "issuer_id",
        "issuer_id, iss, vct, doc_types, namespaces, claims, country, revocation, \
         ekus, status_max_age_days, issuing_country_unbound, claim_paths, aki, \
         device_response_documents, etsi_tl, sd_jwt_ekus, on_unknown_revocation",
    ),
    counted(
        table(
            "trust_materials",
            "id",
            "id, issuer_id, kind, der, kid, test_only, added_at, doc_types",
        ),
        "id",
    ),
    table(
        "trust_lists",
        "issuer_id, kind",
        "issuer_id, kind, issued_at, next_update, certificates, skipped, test_only, \
         added_at, sha256",
    ),
    table(
        "trusted_lists",
        "issuer_id",
        "issuer_id, url, list_type, organization, token, sha256, anchors, crls, \
         providers, profile, allow_stale, test_only, sequence, listed, next_update, \
         added_at",
    ),
    table(
        "lists_of_lists",
        "issuer_id",
        "issuer_id, url, country, organization, token, sha256, anchors, crls, test_only, \
         sequence, issued_at, payload_sha256, territory, location, listed, next_update, \
         added_at, tried_at, failures, failure",
    ),
    table("trusted_list_marks", "source", "source, sequence, issued_at, payload_sha256, seen_at"),
    table("trusted_list_fetches", "url", "url, tried_at, failures, failure"),
    replacing(table("trust_version", "id", "1 AS id, version")),
    table(
        "gateway_keys",
        "version",
        "version, id, sec1, sealed, created_at, retired_at, published_until",
    ),
    table("certificate_keys", "id", "id, client_id, sec1, sealed, created_at, used"),
    counted(
        table(
            "certificates",
            "number",
            "number, hash, client_id, key_id, chain, imported_at, replaced_at",
        ),
        "number",
    ),
    table("registrations", "client_id", "client_id, intended_use, jwt, strict, added_at"),
    table(
        "further_registrations",
        "client_id, intended_use",
        "client_id, intended_use, jwt, strict, added_at",
    ),
    replacing(table("certificates_version", "id", "1 AS id, version")),
    table(
        "webhook_endpoints",
        "client_id",
        "client_id, livemode, url, host, created_at, secret, previous_secret, \
         previous_until",
    ),
    table("webhook_hosts", "host", "host, status, note, reviewed_at"),
    counted(
        table(
            "webhook_deliveries",
            "seq",
            "seq, id, session_id, client_id, livemode, body, queued_at, held, attempts, \
             due_at, lease_until, error_message, failed_at, failure_seq, parent_span",
        ),
        "seq",
    ),
    table(
        "metrics_hours",
        "hour, shard",
        "hour, 'copied' AS shard, verified, failed, expired, latency, processing",
    ),
    table(
        "metrics_types",
        "hour, shard, credential_type",
        "hour, 'copied' AS shard, credential_type, verified, failed, expired",
    ),
    table(
        "metrics_errors",
        "hour, shard, error_code",
        "hour, 'copied' AS shard, error_code, sessions",
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::seal::InstanceKey;
    use crate::sqlite::schema;

    /// Tables that are not copied, each for its own reason.
    const LEFT: [&str; 4] = [
        // Recomputed from the heads.
        "audit_total",
        // Specific to each store.
        "probe",
        "schema_migrations",
        "sqlite_sequence",
    ];

    /// A new column in either schema must be copied, or listed here.
    #[test]
    fn every_table_and_column_of_a_directory_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        let main = schema::open_main(dir.path(), &InstanceKey::generate().unwrap()).unwrap();
        let names = |sql: &str| -> BTreeSet<String> {
            let mut statement = main.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let there = names("SELECT name FROM sqlite_schema WHERE type = 'table'");
        let copied: BTreeSet<String> =
            TABLES.iter().map(|table| table.name).chain(LEFT).map(str::to_owned).collect();
        assert_eq!(there, copied);
        for table in TABLES {
            let there = names(&format!("SELECT name FROM pragma_table_info('{}')", table.name));
            let columns = table.columns();
            let copied = columns.iter().map(|column| (*column).to_owned()).collect();
            let missing: Vec<&String> =
                there.difference(&copied).filter(|column| *column != "only").collect();
            assert_eq!(missing, [] as [&String; 0], "{}", table.name);
            let statement = main.prepare(&table.select()).unwrap();
            let given: Vec<&str> = statement.column_names().collect();
            assert_eq!(given, columns, "{}", table.name);
        }
    }
}
