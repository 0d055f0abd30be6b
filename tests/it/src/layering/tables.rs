//! The layers of each crate.

/// From bottom to top. A module may import modules in lower layers, and none in its own layer.
pub(super) type Layers = &'static [&'static [&'static str]];

/// The modules of the library. A format or a source of trust is a folder in its layer.
pub(super) const CORE: Layers = &[
    &["claims", "limits", "mode", "profile", "time", "entropy", "work"],
    &["codec"],
    &["crypto"],
    &["ids", "error", "jose", "cose", "webhook"],
    &["formats", "trust", "discovery"],
    &["revocation", "request"],
    &["session"],
    &["response"],
    &["verify"],
    &["verifier"],
    &["reply"],
    &["manual", "shell"],
    &["crate"],
];

/// The crate that the other server crates share.
pub(super) const BASE: Layers = &[
    &["checksummed", "clock", "entropy", "limits", "task"],
    &["admin_token", "api_key", "rate_limit", "spans"],
    &["telemetry"],
    &["crate"],
];

/// The store: types, then statements, then use cases, then the two databases, then the files that
/// combine them.
pub(super) const STORE: Layers = &[
    &[
        "address",
        "changes",
        "columns",
        "copied_tables",
        "environment",
        "finding",
        "gateway_key",
        "key_uses",
        "lanes",
        "limits",
        "list_url",
        "seal",
        "sketch",
        "sql",
        "wait",
    ],
    &["audit_chain", "database_settings"],
    &["types"],
    &["claims", "cursor", "failure", "fault", "key_check", "shared_reads"],
    &["postgres_statements", "session_keys"],
    &["db"],
    &[
        "audit",
        "events",
        "idempotency",
        "instance_keys",
        "keys",
        "metrics",
        "pages",
        "quotas",
        "stored_session",
        "version_numbers",
    ],
    &[
        "api_keys",
        "cache",
        "endpoint_removal",
        "new_secrets",
        "recall",
        "recent_sessions",
        "registrations",
        "webhook_endpoints",
    ],
    &["env"],
    &["certificates", "gateway_keys", "outbox", "trust"],
    &["prepared_session", "registered"],
    &["over_asking", "reports", "session_upkeep", "sessions"],
    &["authentication"],
    &["rekey"],
    &["postgres", "sqlite"],
    &["audit_append", "copy"],
    &["gateway", "operator"],
    &["examine_database", "retention"],
    &["upkeep"],
    &["fixtures"],
    &["crate"],
];

/// The folders of the gateway.
pub(super) const SERVER: Layers = &[
    &["limits"],
    &["accent", "config", "descriptors", "digest", "openapi", "panics", "service_manager", "stdio"],
    &["failure", "log", "work"],
    &["app"],
    &["http"],
    &["admin", "serve"],
    &["crate"],
];

/// The demo, and the files of the sandbox.
pub(super) const SANDBOX: Layers = &[
    &["certificate", "issuers", "kept", "limits", "receiver"],
    &["memory", "phones", "published", "serving", "way"],
    &["asks", "demo", "state", "wallet"],
    &["offers"],
    &["console", "offer", "shell"],
    &["options", "routes"],
    &["front", "plan"],
    &["stage"],
    &["crate"],
];

/// The files of the crate with IO.
pub(super) const FETCH: Layers = &[
    &[
        "address",
        "clock",
        "limits",
        "loopback",
        "own_fault",
        "questions",
        "range",
        "requests",
        "store",
        "tls",
    ],
    &["egress", "plan"],
    &["cache", "delivery", "permits", "silence"],
    &["flights"],
    &["fetch"],
    &["decide", "options", "renewal"],
    &["blocking", "wallets"],
    &["crate"],
];

/// The files of the C ABI.
pub(super) const C_ABI: Layers = &[
    &["entropy", "limits", "provider", "status"],
    &["failure"],
    &["choice", "given", "handles", "json", "sized"],
    &["boundary", "issuer", "new_session", "reply"],
    &["answer", "bytes"],
    &["error", "fetcher", "in_use", "report", "webhook"],
    &["presented", "signer", "trust"],
    &["certificate", "verifier_options"],
    &["verifier"],
    &["session"],
    &["dc_api", "registration", "step"],
    &["request_object", "verification"],
    &["fetching", "presentation"],
    &["crate"],
];
