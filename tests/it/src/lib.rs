//! Behaviour tests of idgate: one file per behaviour, one test binary.

// This is not a public interface: the fields are meant to be set and matched.
#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)]
// Tests may panic, and those that wait for a running server read the clock.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::disallowed_methods
    )
)]

#[cfg(test)]
mod api_keys;
#[cfg(test)]
mod at_rest;
#[cfg(test)]
mod at_start;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod auth;
#[cfg(test)]
mod bad_requests;
#[cfg(test)]
mod browser_wallets;
pub mod cases;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod clock_steps;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod copying;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod dc_api_http;
#[cfg(test)]
mod dcql_rules;
pub mod dcql_tamper;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod doctor_eu;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod eu_age;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod full_disk;
pub mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod http_rules;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod jar_http;
#[cfg(test)]
mod jar_rules;
pub mod jar_tamper;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod late_keys;
#[cfg(test)]
mod layering;
#[cfg(test)]
mod limbo;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod link_schemes;
#[cfg(test)]
mod live;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod mdoc_http;
#[cfg(test)]
mod mdoc_rules;
pub mod mdoc_tamper;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod mutation;
#[cfg(test)]
mod mutation_mdoc;
#[cfg(test)]
mod offer_rules;
#[cfg(test)]
mod offers_http;
#[cfg(test)]
mod one_presentation;
#[cfg(test)]
mod openid4vp_1_0;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod operator_files;
#[cfg(test)]
mod own_faults;
#[cfg(test)]
mod page;
#[cfg(test)]
mod pii;
#[cfg(test)]
mod plain_drafts;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod profiles_http;
#[cfg(test)]
mod purge;
#[cfg(test)]
mod quotas;
#[cfg(test)]
mod race;
#[cfg(test)]
mod rate_limits;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod reseal;
#[cfg(test)]
mod revoked_client;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod sd_jwt_rules;
#[cfg(test)]
mod sd_jwt_status;
#[cfg(test)]
mod server;
#[cfg(test)]
mod service_manager;
#[cfg(test)]
mod session_end;
#[cfg(test)]
mod spec_cases;
#[cfg(test)]
mod sse;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod strangers;
pub mod tamper;
#[cfg(test)]
mod tamper_http;
#[cfg(test)]
mod tenant;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod trusted_lists;
#[cfg(test)]
mod unknown_status;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod verify_dc_api;
#[cfg(test)]
mod verify_dcql;
#[cfg(test)]
mod verify_iso_mdoc;
#[cfg(test)]
mod wallet_flow;
#[cfg(test)]
mod webhook_vectors;
#[cfg(test)]
mod webhooks;
#[cfg(test)]
mod ws;
#[cfg(test)]
mod x5c_http;
