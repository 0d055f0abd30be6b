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
pub(super) mod metrics;
mod operator;
mod outbox;
mod pages;
mod postgres;
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
                a_session_leaves_its_creation_its_end_and_its_deletion
                an_expiry_and_a_refusal_say_why
                what_does_not_happen_is_not_recorded
                parallel_settlements_and_another_process_leave_one_dense_chain
                pages_follow_each_other_and_a_cursor_serves_its_client_for_a_day
                a_checkpoint_is_signed_per_hour_and_per_1000_entries
                an_altered_chain_holds_up_no_checkpoint_of_another
                removing_settled_sessions_leaves_the_chain
            }
            claims {
                a_result_is_its_callers_for_its_time_and_nobody_elses
                results_are_removed_when_they_are_due
                a_deletion_takes_the_result_along
                what_is_due_later_than_it_can_be_is_erased_and_never_read
                what_fell_due_while_nothing_ran_is_erased_at_open
                a_key_is_sealed_and_comes_back_with_its_session_for_wallets_only
                a_settled_session_gives_no_key
                no_key_secret_nonce_state_or_claim_is_readable_in_what_is_kept
            }
            events {
                a_page_is_what_comes_after_an_event_and_says_how_it_ends
                a_watch_tells_of_a_commit_and_of_a_deletion_and_of_no_other_session
            }
            faults {
                a_write_that_is_refused_leaves_nothing_and_can_be_repeated
                a_write_that_panics_fails_alone
                a_read_that_fails_or_panics_fails_alone
            }
            idempotency {
                of_many_at_once_one_makes_a_session
                an_answer_is_the_clients_for_24_hours
                an_answer_goes_with_its_session
            }
            keys {
                a_key_of_a_revoked_client_or_a_revoked_expired_or_unknown_one_opens_nothing
                an_admin_token_is_good_at_once_until_it_is_revoked
                rotation_changes_the_value_and_nothing_else
                a_caller_whose_key_was_rotated_revoked_or_expired_changes_nothing
                the_last_use_is_exact_in_answers_and_survives_an_orderly_end
                a_key_rotates_itself_and_keys_whose_scopes_are_within_its_own
                a_key_with_an_expiry_makes_and_rotates_only_keys_that_expire_no_later
                a_client_has_no_more_live_keys_than_its_quota
                a_list_has_all_that_live_and_then_the_newest_others
            }
            lists {
                a_new_issue_is_in_force_for_all_who_follow_it_at_the_next_read
                a_list_in_force_outlives_its_signer_and_a_new_one_does_not
                an_entry_that_refuses_a_list_keeps_it_from_no_other
                a_crl_may_be_of_a_ca_that_the_list_brings
                there_are_32_sources_of_lists_and_no_more
                how_fetching_went_is_kept_until_it_goes_well
                the_newest_number_is_remembered_when_the_list_is_gone
                an_operators_change_of_how_a_list_is_taken_is_kept_over_new_issues
            }
            metrics {
                live_sessions_are_counted_when_they_settle_and_test_ones_never
                gauges_show_what_is_overdue
            }
            operator {
                a_change_of_trust_is_seen_at_the_next_read
                a_request_is_served_by_what_was_in_force_when_it_came_or_by_later
                an_entry_without_material_is_not_made
                what_sd_jwt_issuers_must_be_for_is_stored_and_in_force
                what_to_do_with_an_unknown_status_is_stored_and_in_force
                the_origins_of_a_client_are_its_own_and_seen_at_the_next_read
                the_first_start_makes_a_key_and_later_ones_keep_it
                a_rotation_is_in_force_at_once_and_the_old_key_outlives_its_sessions
                a_retired_key_signs_on_for_open_sessions_and_is_erased_behind_them
                a_key_that_signed_for_no_open_session_is_published_no_longer
            }
            outbox {
                an_endpoint_is_its_clients_and_its_secret_stays_until_it_is_replaced
                a_removed_endpoint_gives_up_what_waits_for_it_and_its_secret_comes_not_back
                a_settlement_is_due_once_its_host_is_approved_and_gone_when_delivered
                a_deleted_session_takes_its_notification_whatever_became_of_it
                of_many_leases_at_once_each_notification_is_in_one
                a_lease_that_was_lost_ends_nothing
                what_failed_is_due_again_later_and_is_a_dead_letter_at_last
                a_dead_letter_is_retried_once_and_only_by_its_client
                a_rejection_and_a_long_wait_give_up_what_is_held
                a_verdict_that_is_forgotten_holds_what_waits
                the_next_start_takes_over_what_was_leased
                what_waits_comes_in_pages_and_says_when_it_is_tried_next
                dead_letters_come_in_pages_and_go_in_time
                what_made_a_session_is_known_to_it_and_to_its_notification
            }
            pages {
                a_page_is_found_by_its_digest_and_its_session_and_goes_with_it
                a_page_remembers_no_more_than_it_has_room_for
                of_many_browsers_exactly_one_takes_a_page_and_keeps_it
                of_many_phones_exactly_one_gets_a_page_and_gives_it_back_once
                a_page_moves_only_from_a_browser_that_has_it_while_its_session_is_open
                a_page_of_a_session_made_once_is_stored_with_it
                a_client_is_shown_by_its_name_and_its_logo
            }
            registrations {
                registrations_have_names_and_one_is_the_default
                of_several_registrations_the_default_goes_last
                a_client_has_no_more_registrations_than_it_may
                the_registrations_of_a_revoked_client_are_erased
            }
            reports {
                a_report_is_its_callers_for_24_hours
                a_report_goes_with_its_session_and_comes_with_the_refusal_alone
            }
            retention {
                old_entries_go_batch_by_batch_and_the_rest_stays_verifiable
                every_chain_gets_its_turn_however_many_there_are
                a_list_is_intact_while_what_is_old_is_removed
            }
            sessions {
                of_64_parallel_commits_exactly_one_applies
                of_many_made_at_once_a_client_has_as_many_open_as_it_may
                a_session_round_trips_and_survives_a_restart_with_its_result
                status_events_are_numbered_from_one
                a_stale_revision_or_a_deleted_session_loses_the_race
                another_clients_session_is_not_visible
                a_session_is_read_with_the_key_of_its_client_and_with_no_other
                live_and_test_mode_do_not_see_each_other
                due_sessions_are_open_ones_whose_time_is_over
                settled_sessions_are_removed_after_their_time_with_their_events
                what_cannot_be_expired_holds_up_no_other_session
                what_a_process_that_ended_was_verifying_is_abandoned
                an_operator_sees_the_newest_sessions_of_everybody_first
                open_sessions_of_a_revoked_client_are_refused_and_end
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
