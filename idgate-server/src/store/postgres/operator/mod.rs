//! The operator's side of the database: each call is one transaction, beside the gateways that run.
