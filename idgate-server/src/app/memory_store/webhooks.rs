//! It notifies nobody.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;
use tokio::sync::Notify;

use super::MemoryStore;
use crate::store::{
    Caller, DeadLetterPage, EndpointRecord, EndpointStore, EndpointWish, HostStatus, Lane, Leased,
    OutboxStore, PageError, Read, Replay, Verdict, Wanted, Write,
};

impl EndpointStore for MemoryStore {
    fn webhook_endpoint(&self, _: &Caller) -> Read<'_, Option<EndpointRecord>> {
        Box::pin(async { Ok(None) })
    }

    fn put_webhook_endpoint(
        &self,
        caller: &Caller,
        wish: EndpointWish,
        now: UnixMillis,
    ) -> Write<'_, Option<(EndpointRecord, SigningSecret)>> {
        let record = EndpointRecord {
            client_id: caller.client_id.as_str().to_owned(),
            url: wish.url,
            created_at: now,
            host_status: HostStatus::Pending,
            host_review_note: None,
        };
        self.write(move |_| Some((record, wish.secret.unwrap_or(wish.fresh))))
    }
}

impl OutboxStore for MemoryStore {
    fn outbox_bell(&self) -> Arc<Notify> {
        Arc::default()
    }

    fn release_leases(&self, _: UnixMillis) -> Write<'_, usize> {
        self.write(|_| 0)
    }

    fn due_lanes(&self, _: UnixMillis) -> Read<'_, Vec<Lane>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn lease(&self, _: Vec<Wanted>, _: UnixMillis, _: UnixMillis) -> Write<'_, Vec<Leased>> {
        self.write(|_| Vec::new())
    }

    fn end_lease(&self, _: i64, _: UnixMillis, _: Verdict, _: UnixMillis) -> Write<'_, bool> {
        self.write(|_| false)
    }

    fn give_up_unreviewed(&self, _: UnixMillis, _: usize, _: UnixMillis) -> Write<'_, usize> {
        self.write(|_| 0)
    }

    fn remove_dead_letters(&self, _: UnixMillis, _: usize) -> Write<'_, usize> {
        self.write(|_| 0)
    }

    fn dead_letters(
        &self,
        _: &Caller,
        _: Option<&str>,
        _: usize,
        _: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError> {
        Box::pin(async { Ok(DeadLetterPage::default()) })
    }

    fn replay_dead_letter(&self, _: &Caller, _: &str, _: UnixMillis) -> Write<'_, Option<Replay>> {
        self.write(|_| None)
    }
}
