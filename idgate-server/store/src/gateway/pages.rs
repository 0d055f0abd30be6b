//! Pages for people.

use idgate_core::{SessionId, TenantId};

use super::Store;
use crate::lanes::LaneKey;
use crate::pages;
use crate::types::{Face, PageRecord, Picture, Read, Write};

/// Pages for people.
impl Store {
    /// The page whose token has this digest.
    pub fn page(&self, digest: &[u8; 32]) -> Read<'_, Option<PageRecord>> {
        let read = self.read(self.lane_of(digest), *digest, |digest, db, env| {
            Box::pin(pages::read(db, &env.sealer, digest))
        });
        self.env.fault.read(read)
    }

    /// The page of a session, if it has one.
    pub fn page_of(&self, id: &SessionId) -> Read<'_, Option<PageRecord>> {
        let read = self.read(self.lane_of(id.as_str()), id.clone(), |id, db, env| {
            Box::pin(pages::of_session(db, &env.sealer, id.as_str()))
        });
        self.env.fault.read(read)
    }

    /// Notes that the page was opened.
    pub fn open_page(&self, digest: &[u8; 32]) -> Write<'_, ()> {
        self.write(LaneKey::of(digest), *digest, |digest, db, _| {
            Box::pin(pages::set_opened(db, digest))
        })
    }

    /// Binds the page to the browser whose cookie has the digest `browser`, unless another browser
    /// has it. Of any number of browsers exactly one gets it. `false`: another browser has it, or
    /// the page is gone.
    pub fn take_page(&self, digest: &[u8; 32], browser: [u8; 32]) -> Write<'_, bool> {
        self.write(LaneKey::of(digest), (*digest, browser), |(digest, browser), db, _| {
            Box::pin(pages::take(db, digest, browser))
        })
    }

    /// Hands the page over to the phone whose cookie has the digest `phone`, unless it moved since
    /// `moves` was read, no browser has it, or its session no longer takes an answer. Of any number
    /// of phones exactly one gets it. `false`: the page did not move.
    pub fn hand_over_page(
        &self,
        digest: &[u8; 32],
        phone: [u8; 32],
        moves: i64,
    ) -> Write<'_, bool> {
        self.write(LaneKey::of(digest), (*digest, phone, moves), |(digest, phone, moves), db, _| {
            Box::pin(pages::hand_over(db, digest, phone, *moves))
        })
    }

    /// Takes the page back from a phone, unless it moved since `moves` was read, has the note
    /// `unless`, or its session no longer takes an answer. `false`: the page did not move.
    pub fn bring_page_back(
        &self,
        digest: &[u8; 32],
        moves: i64,
        unless: String,
    ) -> Write<'_, bool> {
        self.write(
            LaneKey::of(digest),
            (*digest, moves, unless),
            |(digest, moves, unless), db, _| {
                Box::pin(pages::bring_back(db, digest, *moves, unless))
            },
        )
    }

    /// Stores `note`, which has no spaces, once. A page has room for a few dozen notes.
    pub fn note_on_page(&self, digest: &[u8; 32], note: &str) -> Write<'_, ()> {
        self.write(LaneKey::of(digest), (*digest, note.to_owned()), |(digest, note), db, _| {
            Box::pin(pages::note(db, digest, note))
        })
    }

    /// The name, logo and links that people see of a client.
    pub fn face(&self, client_id: &TenantId) -> Read<'_, Option<Face>> {
        let read = self.read(LaneKey::of(client_id), client_id.clone(), |client_id, db, _| {
            Box::pin(pages::face(db, client_id.as_str()))
        });
        self.env.fault.read(read)
    }

    /// The logo of a client, if it has one.
    pub fn logo(&self, client_id: &TenantId) -> Read<'_, Option<Picture>> {
        let read = self.read(LaneKey::of(client_id), client_id.clone(), |client_id, db, _| {
            Box::pin(pages::logo(db, client_id.as_str()))
        });
        self.env.fault.read(read)
    }
}
