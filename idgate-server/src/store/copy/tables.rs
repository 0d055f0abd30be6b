//! What is copied, table by table, each after those that it points at. Both stores keep the same in
//! columns of the same names, but for the order in which rows were made: where SQLite has its row
//! number, PostgreSQL has a column.

/// A table and how it comes over.
#[derive(Debug)]
pub(in crate::store) struct Table {
    pub(in crate::store) name: &'static str,
    /// The columns that tell rows apart.
    pub(in crate::store) key: &'static [&'static str],
    pub(in crate::store) columns: &'static [&'static str],
    /// The columns as SQLite gives them, and where they come from.
    pub(in crate::store) select: &'static str,
    /// The column that a sequence counts, which has to go on behind it.
    pub(in crate::store) counted: Option<&'static str>,
    /// Rows that are there from the beginning are replaced.
    pub(in crate::store) replaces: bool,
}

const fn table(
    name: &'static str,
    key: &'static [&'static str],
    columns: &'static [&'static str],
    select: &'static str,
) -> Table {
    Table { name, key, columns, select, counted: None, replaces: false }
}

const fn counted(table: Table, column: &'static str) -> Table {
    Table { counted: Some(column), ..table }
}

const fn replacing(table: Table) -> Table {
    Table { replaces: true, ..table }
}

/// Where session keys are, in a file of their own. Those of settled sessions wait for a start that
/// removes them: a gateway was ended between two commits.
pub(in crate::store) const SESSION_KEYS: Table = table(
    "session_keys",
    &["session_id"],
    &["session_id", "sealed"],
    "session_id, sealed FROM claims.session_keys AS k WHERE EXISTS \
     (SELECT 1 FROM sessions AS s WHERE s.id = k.session_id AND s.settled_at IS NULL)",
);

/// The results of sessions that were settled with them, and until when they can be read.
pub(in crate::store) const RESULTS: &str = "SELECT r.session_id, r.redact_at FROM claims.results AS r \
     JOIN sessions AS s ON s.id = r.session_id AND s.status = 'VERIFIED'";

/// All tables of the main database.
pub(in crate::store) const TABLES: &[Table] = &[
    // The database's own id stays behind: it is about files.
    replacing(table(
        "instance",
        &["name"],
        &["name", "sealed"],
        "name, sealed FROM instance WHERE name <> 'database_id'",
    )),
    counted(
        table(
            "clients",
            &["id"],
            &[
                "seq",
                "id",
                "name",
                "livemode",
                "signing_secret",
                "created_at",
                "revoked_at",
                "max_keys",
                "max_open_sessions",
                "logo",
                "logo_type",
            ],
            "rowid, id, name, livemode, signing_secret, created_at, revoked_at, max_keys, \
             max_open_sessions, logo, logo_type FROM clients",
        ),
        "seq",
    ),
    table(
        "client_origins",
        &["client_id", "origin"],
        &["client_id", "origin", "added_at"],
        "client_id, origin, added_at FROM client_origins",
    ),
    counted(
        table(
            "api_keys",
            &["id"],
            &[
                "seq",
                "id",
                "client_id",
                "digest",
                "hint",
                "name",
                "scopes",
                "livemode",
                "created_at",
                "expires_at",
                "last_used_at",
                "revoked_at",
            ],
            "rowid, id, client_id, digest, hint, name, scopes, livemode, created_at, expires_at, \
             last_used_at, revoked_at FROM api_keys",
        ),
        "seq",
    ),
    counted(
        table(
            "admin_tokens",
            &["id"],
            &["seq", "id", "name", "digest", "created_at", "revoked_at"],
            "rowid, id, name, digest, created_at, revoked_at FROM admin_tokens",
        ),
        "seq",
    ),
    table(
        "sessions",
        &["id"],
        &[
            "id",
            "client_id",
            "livemode",
            "status",
            "revision",
            "created_at",
            "expires_at",
            "lease_until",
            "settled_at",
            "reason",
            "latency_ms",
            "processing_us",
            "formats",
            "issuer_ids",
            "record",
            "events",
        ],
        "id, client_id, livemode, status, revision, created_at, expires_at, lease_until, \
         settled_at, reason, latency_ms, processing_us, formats, issuer_ids, record, events \
         FROM sessions",
    ),
    // As a gateway counts them when it starts.
    table(
        "open_sessions",
        &["client_id"],
        &["client_id", "count"],
        "client_id, count(*) FROM sessions WHERE settled_at IS NULL GROUP BY client_id",
    ),
    table("offers", &["id"], &["id", "session_id"], "id, session_id FROM offers"),
    table(
        "pages",
        &["digest"],
        &["digest", "session_id", "sealed", "browser", "is_opened", "notes"],
        "digest, session_id, sealed, browser, is_opened, notes FROM pages",
    ),
    table(
        "idempotent_answers",
        &["client_id", "key"],
        &["client_id", "key", "body", "session_id", "created_at", "sealed"],
        "client_id, key, body, session_id, created_at, sealed FROM idempotent_answers",
    ),
    table(
        "reports",
        &["session_id"],
        &["session_id", "refused_at", "sealed"],
        "session_id, refused_at, sealed FROM reports",
    ),
    table(
        "audit_entries",
        &["client_id", "seq"],
        &["client_id", "seq", "fields", "prev_hash", "entry_hash"],
        "client_id, seq, fields, prev_hash, entry_hash FROM audit_entries",
    ),
    table(
        "audit_heads",
        &["client_id"],
        &[
            "client_id",
            "seq",
            "entry_hash",
            "checkpoint_seq",
            "checkpoint_hash",
            "open_since",
            "mac",
        ],
        "client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
         FROM audit_heads",
    ),
    table(
        "audit_checkpoints",
        &["client_id", "seq"],
        &["client_id", "seq", "signed", "written"],
        "client_id, seq, signed, written FROM audit_checkpoints",
    ),
    table(
        "audit_removals",
        &["client_id"],
        &["client_id", "signed"],
        "client_id, signed FROM audit_removals",
    ),
    table("left_out", &["session_id"], &["session_id"], "session_id FROM left_out"),
    table(
        "trust_entries",
        &["issuer_id"],
        &[
            "issuer_id",
            "iss",
            "vct",
            "doc_types",
            "namespaces",
            "claims",
            "country",
            "revocation",
            "ekus",
            "status_max_age_days",
            "issuing_country_unbound",
            "claim_paths",
            "aki",
            "device_response_documents",
            "etsi_tl",
        ],
        "issuer_id, iss, vct, doc_types, namespaces, claims, country, revocation, ekus, \
         status_max_age_days, issuing_country_unbound, claim_paths, aki, \
         device_response_documents, etsi_tl FROM trust_entries",
    ),
    counted(
        table(
            "trust_materials",
            &["id"],
            &["id", "issuer_id", "kind", "der", "kid", "test_only", "added_at", "doc_types"],
            "id, issuer_id, kind, der, kid, test_only, added_at, doc_types FROM trust_materials",
        ),
        "id",
    ),
    table(
        "trust_lists",
        &["issuer_id", "kind"],
        &[
            "issuer_id",
            "kind",
            "issued_at",
            "next_update",
            "certificates",
            "skipped",
            "test_only",
            "added_at",
            "sha256",
        ],
        "issuer_id, kind, issued_at, next_update, certificates, skipped, test_only, added_at, \
         sha256 FROM trust_lists",
    ),
    table(
        "trusted_lists",
        &["issuer_id"],
        &[
            "issuer_id",
            "url",
            "list_type",
            "organization",
            "token",
            "sha256",
            "anchors",
            "crls",
            "providers",
            "profile",
            "allow_stale",
            "test_only",
            "sequence",
            "listed",
            "next_update",
            "added_at",
        ],
        "issuer_id, url, list_type, organization, token, sha256, anchors, crls, providers, profile, \
         allow_stale, test_only, sequence, listed, next_update, added_at FROM trusted_lists",
    ),
    table(
        "trusted_list_marks",
        &["source"],
        &["source", "sequence", "issued_at", "payload_sha256", "seen_at"],
        "source, sequence, issued_at, payload_sha256, seen_at FROM trusted_list_marks",
    ),
    table(
        "trusted_list_fetches",
        &["url"],
        &["url", "tried_at", "failures", "failure"],
        "url, tried_at, failures, failure FROM trusted_list_fetches",
    ),
    replacing(table("trust_version", &["id"], &["id", "version"], "1, version FROM trust_version")),
    table(
        "gateway_keys",
        &["version"],
        &["version", "id", "sec1", "sealed", "created_at", "retired_at", "published_until"],
        "version, id, sec1, sealed, created_at, retired_at, published_until FROM gateway_keys",
    ),
    table(
        "certificate_keys",
        &["id"],
        &["id", "client_id", "sec1", "sealed", "created_at", "used"],
        "id, client_id, sec1, sealed, created_at, used FROM certificate_keys",
    ),
    counted(
        table(
            "certificates",
            &["number"],
            &["number", "hash", "client_id", "key_id", "chain", "imported_at", "replaced_at"],
            "number, hash, client_id, key_id, chain, imported_at, replaced_at FROM certificates",
        ),
        "number",
    ),
    table(
        "registrations",
        &["client_id"],
        &["client_id", "jwt", "strict", "added_at"],
        "client_id, jwt, strict, added_at FROM registrations",
    ),
    replacing(table(
        "certificates_version",
        &["id"],
        &["id", "version"],
        "1, version FROM certificates_version",
    )),
    table(
        "webhook_endpoints",
        &["client_id"],
        &[
            "client_id",
            "livemode",
            "url",
            "host",
            "created_at",
            "secret",
            "previous_secret",
            "previous_until",
        ],
        "client_id, livemode, url, host, created_at, secret, previous_secret, previous_until \
         FROM webhook_endpoints",
    ),
    table(
        "webhook_hosts",
        &["host"],
        &["host", "status", "note", "reviewed_at"],
        "host, status, note, reviewed_at FROM webhook_hosts",
    ),
    counted(
        table(
            "webhook_deliveries",
            &["seq"],
            &[
                "seq",
                "id",
                "session_id",
                "client_id",
                "livemode",
                "body",
                "queued_at",
                "held",
                "attempts",
                "due_at",
                "lease_until",
                "error_message",
                "failed_at",
                "failure_seq",
            ],
            "seq, id, session_id, client_id, livemode, body, queued_at, held, attempts, due_at, \
             lease_until, error_message, failed_at, failure_seq FROM webhook_deliveries",
        ),
        "seq",
    ),
    table(
        "metrics_hours",
        &["hour", "shard"],
        &["hour", "shard", "verified", "failed", "expired", "latency", "processing"],
        "hour, 'copied', verified, failed, expired, latency, processing FROM metrics_hours",
    ),
    table(
        "metrics_types",
        &["hour", "shard", "credential_type"],
        &["hour", "shard", "credential_type", "verified", "failed", "expired"],
        "hour, 'copied', credential_type, verified, failed, expired FROM metrics_types",
    ),
    table(
        "metrics_errors",
        &["hour", "shard", "error_code"],
        &["hour", "shard", "error_code", "sessions"],
        "hour, 'copied', error_code, sessions FROM metrics_errors",
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::seal::InstanceKey;
    use crate::store::schema;

    /// Tables that stay behind, each for its reason.
    const LEFT: [&str; 4] = [
        // Made anew of the heads.
        "audit_total",
        // Each store's own.
        "probe",
        "schema_migrations",
        "sqlite_sequence",
    ];

    /// A column that is new in one of the schemas is copied, or named here.
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
            let copied: BTreeSet<String> =
                table.columns.iter().map(|column| (*column).to_owned()).collect();
            let missing: Vec<&String> =
                there.difference(&copied).filter(|column| *column != "only").collect();
            assert_eq!(missing, [] as [&String; 0], "{}", table.name);
            let statement = main.prepare(&format!("SELECT {}", table.select)).unwrap();
            let given = statement.column_names();
            assert_eq!(given.len(), table.columns.len(), "{}", table.name);
            for (given, column) in given.into_iter().zip(table.columns) {
                let is_computed = matches!(
                    (given, *column),
                    ("rowid", "seq") | ("count(*)", "count") | ("'copied'", "shard") | ("1", "id")
                );
                assert!(given == *column || is_computed, "{}: {given} as {column}", table.name);
            }
        }
    }
}
