//! Test cases that every store must pass. They drive the interface by its contract, including races
//! and faults. A store takes part with its [`Backend`] and one line: `conforms!(ItsBackend);`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod audit;
mod claims;
mod events;
mod faults;
mod fixture;
mod idempotency;
mod keys;
mod lists;
mod lists_of_lists;
pub(super) mod metrics;
mod operator;
mod outbox;
mod pages;
mod postgres;
mod recent_sessions;
mod registrations;
mod reports;
pub(super) mod retention;
mod sessions;
mod sqlite;

use std::sync::Arc;

use idgate_core::{Revision, Session, SessionId, Status, UnixMillis};

pub(super) use self::fixture::{Fixture, NOW, verify};
pub(super) use self::postgres::{Held, PostgresDatabase};
pub(super) use self::sessions::hold;
pub(super) use self::sqlite::SqliteDirectory;
use super::wait::Wait as _;
use super::*;
use idgate_base::api_key::ApiKey;
use idgate_base::entropy::OsEntropy;

/// The storage behind a store. It outlives the store.
pub(super) trait Backend {
    /// Whether this machine has everything that the backend needs.
    fn is_there() -> bool {
        true
    }

    /// An empty backend.
    fn new() -> Self;

    /// Starts a gateway on it at `now`. The previous gateway has ended.
    fn open(&self, now: UnixMillis) -> Store;

    /// The operator's store, as in another process.
    fn operator(&self) -> Box<OperatorStore>;

    /// Changes the stored data behind the store's back.
    fn damage(&self, what: Damage<'_>);

    /// Whether the stored data contains these bytes anywhere.
    fn holds(&self, needle: &[u8]) -> bool;
}

/// What to damage.
#[derive(Clone, Copy, Debug)]
pub(super) enum Damage<'a> {
    /// The sealed record of this session.
    Session(&'a str),
    /// The head of this client's audit chain.
    AuditHead(&'a str),
}

/// Runs every case on the store of a [`Backend`]. A case that is not listed here is dead code.
macro_rules! conforms {
    ($backend:ty) => {
        conforms! { $backend:
            audit {
                creation_end_and_deletion_of_a_session_are_audited
                audit_entries_of_expired_and_failed_sessions_have_the_reason
                changes_without_effect_are_not_audited
                parallel_settlements_and_another_process_give_one_consecutive_chain
                audit_pages_continue_and_a_cursor_is_valid_for_its_client_for_a_day
                a_checkpoint_is_signed_per_hour_and_per_1000_entries
                an_altered_chain_does_not_delay_checkpoints_of_others
                removing_settled_sessions_leaves_the_chain
            }
            claims {
                a_result_is_readable_for_30_seconds_by_its_owner_only
                results_are_removed_when_they_are_due
                deleting_a_session_removes_its_result
                a_result_due_implausibly_late_is_erased_and_never_read
                results_that_expired_while_stopped_are_erased_at_open
                a_session_key_is_sealed_and_returned_to_the_wallet_routes_only
                a_settled_session_has_no_key
                no_key_secret_nonce_state_or_claim_is_stored_in_plaintext
            }
            events {
                a_page_of_events_follows_an_event_and_says_whether_the_session_settled
                a_watch_signals_commits_and_deletions_of_its_session_only
            }
            faults {
                a_rejected_write_changes_nothing_and_can_be_repeated
                a_write_that_panics_fails_alone
                a_read_that_fails_or_panics_fails_alone
            }
            idempotency {
                of_many_at_once_one_makes_a_session
                an_idempotent_answer_is_kept_for_24_hours_for_its_client
                an_idempotent_answer_is_removed_with_its_session
            }
            keys {
                revoked_expired_and_unknown_keys_do_not_authenticate
                an_admin_token_is_valid_from_creation_until_revocation
                rotation_changes_the_value_and_nothing_else
                a_caller_with_a_rotated_revoked_or_expired_key_changes_nothing
                the_last_use_is_exact_and_survives_a_shutdown
                a_key_rotates_itself_and_keys_whose_scopes_are_within_its_own
                a_key_with_an_expiry_makes_and_rotates_only_keys_that_expire_no_later
                a_client_has_no_more_active_keys_than_its_quota
                a_list_has_all_active_keys_and_then_the_newest_others
            }
            lists {
                a_new_issue_is_in_force_for_all_who_follow_it_at_the_next_read
                a_list_in_force_outlives_its_signer_and_a_new_one_does_not
                an_entry_that_refuses_a_list_keeps_it_from_no_other
                a_crl_may_be_of_a_ca_that_the_list_brings
                new_anchors_keep_only_the_crls_of_their_own_cas
                there_are_32_sources_of_lists_and_no_more
                how_fetching_went_is_kept_until_it_goes_well
                the_newest_number_is_remembered_when_the_list_is_gone
                an_operators_change_of_how_a_list_is_taken_is_kept_over_new_issues
            }
            lists_of_lists {
                a_new_one_comes_into_force_with_the_list_that_it_names
                one_whose_list_does_not_verify_changes_nothing
                below_a_ca_the_organization_of_the_first_signer_is_fixed
                a_crl_of_its_ca_revokes_its_signer
                it_is_removed_with_its_list
            }
            metrics {
                settled_live_sessions_are_counted_and_test_sessions_are_not
                gauges_show_overdue_results_and_unsigned_audit_entries
            }
            operator {
                a_trust_change_applies_to_the_next_read
                a_request_uses_trust_as_of_its_arrival_or_later
                a_trust_entry_without_material_is_not_stored
                sd_jwt_extended_key_usages_are_stored_and_in_force
                on_unknown_revocation_is_stored_and_in_force
                a_clients_origins_apply_to_the_next_read_and_to_no_other_client
                the_first_start_creates_a_signing_key_and_later_starts_keep_it
                a_key_rotation_applies_immediately_and_the_old_key_outlives_its_sessions
                a_retired_key_signs_for_open_sessions_and_is_erased_after_them
                a_retired_key_without_open_sessions_is_no_longer_published
            }
            outbox {
                an_endpoint_belongs_to_its_client_and_keeps_its_secret_until_replaced
                removing_an_endpoint_gives_up_its_notifications_and_its_secret
                a_notification_is_due_after_host_approval_and_removed_when_delivered
                deleting_a_session_removes_its_notification_in_any_state
                concurrent_leases_never_share_a_notification
                ending_a_lost_lease_changes_nothing
                a_failed_notification_is_retried_and_finally_a_dead_letter
                a_dead_letter_is_retried_once_and_only_by_its_client
                held_notifications_are_given_up_by_rejection_or_a_long_wait
                resetting_a_review_holds_notifications_again
                the_next_start_takes_over_leased_notifications
                pending_notifications_have_pages_and_their_next_attempt
                dead_letters_have_pages_and_are_removed_in_time
                session_and_notification_know_the_creating_span
            }
            pages {
                a_page_is_found_by_digest_or_session_and_removed_with_it
                a_page_stores_notes_only_up_to_its_limit
                of_many_browsers_exactly_one_takes_a_page_and_keeps_it
                of_many_phones_exactly_one_gets_a_page_and_returns_it_once
                a_page_moves_only_from_a_browser_that_has_it_while_its_session_is_open
                a_session_under_an_idempotency_key_stores_its_page
                a_clients_face_has_its_name_and_logo
            }
            recent_sessions {
                a_recalled_session_is_the_one_that_a_read_finds
                a_transition_by_memory_is_stored_if_nothing_has_changed
                a_change_of_trust_keys_or_registrations_voids_a_transition_by_memory
                a_change_of_the_session_voids_a_transition_by_memory
                the_revocation_of_its_client_voids_a_transition_by_memory
                a_held_settled_deleted_or_expired_session_is_not_recalled
                a_change_that_is_not_committed_yet_is_not_recalled
                a_write_that_is_not_stored_leaves_no_copy
                an_encrypted_session_is_recalled_with_its_key_or_not_at_all
            }
            registrations {
                registrations_have_names_and_one_is_the_default
                the_default_registration_can_only_be_removed_last
                a_client_has_at_most_32_registrations
                the_registrations_of_a_revoked_client_are_erased
            }
            reports {
                a_report_is_kept_for_24_hours_for_its_owner
                a_report_is_stored_with_the_rejection_and_removed_with_the_session
            }
            retention {
                old_audit_entries_are_removed_in_batches_and_the_rest_verifies
                retention_reaches_every_chain_however_many_there_are
                an_audit_page_is_intact_while_old_entries_are_removed
            }
            sessions {
                of_64_parallel_commits_exactly_one_applies
                concurrent_creations_stay_within_the_open_session_quota
                a_session_round_trips_and_survives_a_restart_with_its_result
                status_events_are_numbered_from_one
                a_write_on_a_stale_revision_or_a_deleted_session_is_not_applied
                a_client_cannot_read_another_clients_session
                a_session_is_read_with_the_key_of_its_client_and_with_no_other
                live_and_test_callers_cannot_read_each_others_sessions
                due_sessions_are_open_and_past_their_expiry_or_lease
                settled_sessions_are_removed_after_their_time_with_their_events
                an_unreadable_session_does_not_delay_other_expiries
                sessions_that_an_ended_process_was_verifying_are_abandoned
                an_operator_lists_the_newest_sessions_of_all_clients_first
                open_sessions_of_a_revoked_client_are_not_found_and_end
            }
        }
    };
    ($backend:ty: $($room:ident { $($case:ident)+ })+) => {$(
        mod $room {
            use super::*;

            $(
                #[tokio::test]
                async fn $case() {
                    if <$backend>::is_there() {
                        super::super::$room::$case::<$backend>().await;
                    }
                }
            )+
        }
    )+};
}
use conforms;
