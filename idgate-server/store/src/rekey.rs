//! Everything that an instance key protects, value by value, so that another key can take its place:
//! what is sealed is sealed anew, what is MACed or signed is MACed and signed anew. A value is replaced
//! only where it is still the one that was read, page by page, so that whoever is ended on the way
//! begins anew and finds the rest.

use super::audit::head::Head;
use super::finding::Finding;
use super::types::Resealed;
use super::types::StoreError;
use super::{certificates, gateway_keys, idempotency, keys, pages, reports, webhook_endpoints};
use crate::audit_chain::{AuditKeys, SignedCheckpoint, SignedRemoval};
use crate::prepared_session;
use crate::seal::{Place, SealedBy, Sealer};

/// Rows in one transaction.
pub(super) const PAGE: i64 = 100;

/// Where a value stands: by its object and the client of that.
pub(super) type PlaceOf = for<'a> fn(&'a str, &'a str) -> Place<'a>;

/// A kind of row with something sealed. The statements take what stands where as `$1`, `$2`, `$3`: the
/// last id and how many rows, and id, new value and old value. They give id, client and sealed value.
pub(super) struct Kind {
    pub(super) select: &'static str,
    pub(super) update: &'static str,
    pub(super) place: PlaceOf,
}

/// All kinds in the main database, whichever store it is.
pub(super) const KINDS: [Kind; 9] = [
    Kind {
        select: "SELECT id, id, signing_secret FROM clients WHERE id > $1 ORDER BY id LIMIT $2",
        update: "UPDATE clients SET signing_secret = $2 WHERE id = $1 AND signing_secret = $3",
        place: |id, _| keys::secret_place(id),
    },
    Kind {
        select: "SELECT client_id, client_id, secret FROM webhook_endpoints WHERE client_id > $1 \
                 ORDER BY client_id LIMIT $2",
        update: "UPDATE webhook_endpoints SET secret = $2 WHERE client_id = $1 AND secret = $3",
        place: |id, _| webhook_endpoints::place(id),
    },
    Kind {
        select: "SELECT client_id, client_id, previous_secret FROM webhook_endpoints \
                 WHERE client_id > $1 AND previous_secret IS NOT NULL ORDER BY client_id LIMIT $2",
        update: "UPDATE webhook_endpoints SET previous_secret = $2 \
                 WHERE client_id = $1 AND previous_secret = $3",
        place: |id, _| webhook_endpoints::place(id),
    },
    Kind {
        select: "SELECT id, '', sealed FROM gateway_keys WHERE id > $1 AND sealed IS NOT NULL \
                 ORDER BY id LIMIT $2",
        update: "UPDATE gateway_keys SET sealed = $2 WHERE id = $1 AND sealed = $3",
        place: |id, _| gateway_keys::place(id),
    },
    Kind {
        select: "SELECT id, client_id, sealed FROM certificate_keys WHERE id > $1 \
                 ORDER BY id LIMIT $2",
        update: "UPDATE certificate_keys SET sealed = $2 WHERE id = $1 AND sealed = $3",
        place: |id, client| certificates::place(id, client),
    },
    Kind {
        select: "SELECT session_id, client_id, sealed FROM idempotent_answers \
                 WHERE session_id > $1 ORDER BY session_id LIMIT $2",
        update: "UPDATE idempotent_answers SET sealed = $2 WHERE session_id = $1 AND sealed = $3",
        place: idempotency::place,
    },
    Kind {
        select: "SELECT p.session_id, s.client_id, p.sealed FROM pages AS p \
                 JOIN sessions AS s ON s.id = p.session_id WHERE p.session_id > $1 \
                 ORDER BY p.session_id LIMIT $2",
        update: "UPDATE pages SET sealed = $2 WHERE session_id = $1 AND sealed = $3",
        place: pages::place,
    },
    Kind {
        select: "SELECT r.session_id, s.client_id, r.sealed FROM reports AS r \
                 JOIN sessions AS s ON s.id = r.session_id \
                 WHERE r.session_id > $1 ORDER BY r.session_id LIMIT $2",
        update: "UPDATE reports SET sealed = $2 WHERE session_id = $1 AND sealed = $3",
        place: reports::place,
    },
    Kind {
        select: "SELECT id, client_id, record FROM sessions WHERE id > $1 ORDER BY id LIMIT $2",
        update: "UPDATE sessions SET record = $2 WHERE id = $1 AND record = $3",
        place: prepared_session::place_of,
    },
];

/// Whether values are replaced, or counted only.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    Count,
    Replace,
}

/// What an operator is told of it while there are several keys.
pub(super) fn judge(found: Resealed) -> Finding {
    let Resealed { current, others, unreadable } = found;
    if others == 0 && unreadable > 0 {
        let what = format!(
            "{unreadable} values open under none of them, and as long as that is so each of them is asked \
             for; `idgate doctor --deep` and `idgate audit verify` say which, and a backup has them as \
             they were"
        );
        return Finding::warning("instance_keys", what);
    }
    if others == 0 {
        let what = format!(
            "{current} values are sealed under the first of them, none under another; after `idgate keys \
             reseal` the others are not needed any more"
        );
        return Finding::good("instance_keys", what);
    }
    let what = format!(
        "{others} values are still sealed under another key than the first; run `idgate keys reseal` \
         before you take that away"
    );
    Finding::warning("instance_keys", what)
}

/// What opens and seals, and what was found so far.
pub(super) struct Rekeying<'k> {
    pub(super) sealer: &'k Sealer,
    pub(super) audit: &'k AuditKeys,
    pub(super) mode: Mode,
    pub(super) found: Resealed,
}

impl<'k> Rekeying<'k> {
    pub(super) fn new(sealer: &'k Sealer, audit: &'k AuditKeys, mode: Mode) -> Self {
        Self { sealer, audit, mode, found: Resealed::default() }
    }

    /// Counts a sealed value; the one that is to take its place, if one is.
    pub(super) fn sealed(
        &mut self,
        place: Place<'_>,
        sealed: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        match self.sealer.open_by(place, sealed) {
            Ok((SealedBy::First, _)) => Ok(self.current()),
            Ok((SealedBy::Another, _)) if self.mode == Mode::Count => Ok(self.other(None)),
            Ok((SealedBy::Another, plain)) => {
                let anew = self.sealer.seal(place, &plain)?;
                Ok(self.other(Some(anew)))
            }
            Err(_) => Ok(self.unreadable()),
        }
    }

    /// The same of the MAC of a chain's head.
    pub(super) fn head(&mut self, head: &Head, genuine: bool, mac: &[u8]) -> Option<Vec<u8>> {
        let anew = head.mac(self.audit);
        if anew == mac {
            self.current()
        } else if genuine {
            self.other(Some(anew))
        } else {
            self.unreadable()
        }
    }

    /// The same of any other MAC.
    pub(super) fn mac(&mut self, message: &[u8], mac: &[u8]) -> Option<Vec<u8>> {
        let anew = self.audit.mac(message);
        if anew == mac {
            self.current()
        } else if self.audit.is_mac(message, mac) {
            self.other(Some(anew))
        } else {
            self.unreadable()
        }
    }

    /// The same of a signed checkpoint.
    pub(super) fn checkpoint(&mut self, line: &str) -> Option<String> {
        let Ok(signed) = serde_json::from_str::<SignedCheckpoint>(line) else {
            return self.unreadable();
        };
        match signed.anew(self.audit) {
            None => self.current(),
            Some(anew) if signed.is_signed_by(self.audit) => self.other(Some(anew.to_line())),
            Some(_) => self.unreadable(),
        }
    }

    /// The same of a signed record of what was removed of this client's chain.
    pub(super) fn removal(&mut self, client_id: &str, line: &str) -> Option<String> {
        let Ok(signed) = serde_json::from_str::<SignedRemoval>(line) else {
            return self.unreadable();
        };
        match signed.anew(self.audit) {
            None => self.current(),
            Some(anew) if signed.end(self.audit, client_id).is_some() => {
                self.other(Some(anew.to_line()))
            }
            Some(_) => self.unreadable(),
        }
    }

    fn current<T>(&mut self) -> Option<T> {
        self.found.current = self.found.current.saturating_add(1);
        None
    }

    fn other<T>(&mut self, anew: Option<T>) -> Option<T> {
        self.found.others = self.found.others.saturating_add(1);
        anew.filter(|_| self.mode == Mode::Replace)
    }

    fn unreadable<T>(&mut self) -> Option<T> {
        self.found.unreadable = self.found.unreadable.saturating_add(1);
        None
    }
}
