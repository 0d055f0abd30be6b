//! Offers and their state. The codes and tokens that strangers present for them are stored as
//! digests in memory.

use idgate_core::shell::ct;
use idgate_testkit::codec::base64url;
use serde::Serialize;
use serde_json::{Value, json};

use super::digests::{Bounded, Digest, Full, digest, random, secret};
use super::refusal::Refusal;
use super::samples::Sample;
use crate::limits::{
    MAX_OPEN_OFFERS, MAX_REQUESTS_OF_OFFER, MAX_SHOWN_OFFERS, MAX_TOKENS, MAX_WRONG_TX_CODES,
    OFFER_LIFE_MS, TOKEN_LIFE_MS,
};

/// The grant of a pre-authorized code (OpenID4VCI 4.1.1).
pub(super) const PRE_AUTHORIZED: &str = "urn:ietf:params:oauth:grant-type:pre-authorized_code";

/// The progress of an offer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Progress {
    /// It waits for a phone.
    Offered,
    /// A wallet has read the issuer's metadata since the offer was made.
    MetadataFetched,
    /// A wallet has an access token for it.
    Token,
    /// A wallet has its samples.
    Issued,
    /// The wallet reported that it stored them.
    Stored,
    /// A request was refused before a wallet had its samples, or the wallet gave them up.
    Failed,
}

impl Progress {
    /// Its name, as shown.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::MetadataFetched => "metadata fetched",
            Self::Token => "token",
            Self::Issued => "issued",
            Self::Stored => "stored",
            Self::Failed => "failed",
        }
    }
}

/// The properties of a new offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) sample: Sample,
    pub(crate) by_reference: bool,
    /// Whether the person must type a code.
    pub(crate) tx_code: bool,
    /// Whether it is from the issuer that requires attestations.
    pub(crate) attested: bool,
    /// Whether the link has HAIP's scheme.
    pub(crate) haip: bool,
}

/// A new offer with its secrets, which are shown once. It has no `Debug`, so that they do not get
/// into logs.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) link: String,
    pub(crate) credential_offer: Value,
    pub(crate) credential_offer_uri: Option<String>,
    pub(crate) tx_code: Option<String>,
    pub(crate) configuration: &'static str,
}

/// An existing offer.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) id: String,
    pub(super) sample: Sample,
    pub(super) attested: bool,
    pub(super) progress: Progress,
    /// The rule by which the last request for it was refused.
    pub(super) rule: Option<&'static str>,
    pub(super) made_at: u64,
    pub(super) expires_at: u64,
    code: Digest,
    tx_code: Option<Digest>,
    wrong_tx_codes: u8,
    requests: u32,
    /// Its code was used, or voided by wrong guesses.
    is_closed: bool,
    reference: Option<Digest>,
    /// The offer object for its reference, without the code.
    document: Value,
}

/// An access token.
#[derive(Debug)]
pub(super) struct Token {
    /// The id of the offer.
    pub(super) offer: String,
    pub(super) attested: bool,
    pub(super) sample: Sample,
    /// The thumbprint of the key to which it is bound; `None` for a bearer token.
    pub(super) bound_to: Option<String>,
    /// Whether its only batch was issued.
    pub(super) is_used: bool,
    /// The notification id of the batch.
    pub(super) notification: Option<Digest>,
    requests: u32,
}

/// The offers and tokens of both issuers.
#[derive(Debug)]
pub(super) struct Offers {
    all: Vec<Offer>,
    tokens: Bounded<Token>,
    made: u64,
}

impl Offers {
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), tokens: Bounded::new(MAX_TOKENS), made: 0 }
    }

    /// Creates an offer of the issuer with the identifier `issuer`.
    ///
    /// # Errors
    /// The maximum of open offers is reached, or the system has no random bytes.
    pub(super) fn make(&mut self, wish: Wish, issuer: &str, now_ms: u64) -> Result<Made, String> {
        if self.all.iter().filter(|offer| offer.is_open(now_ms)).count() >= MAX_OPEN_OFFERS {
            return Err(format!(
                "{MAX_OPEN_OFFERS} offers are open, the maximum of a sandbox; wait until one is used or expires"
            ));
        }
        while self.all.len() >= MAX_SHOWN_OFFERS {
            let closed = self.all.iter().position(|offer| !offer.is_open(now_ms));
            self.all.remove(closed.unwrap_or(0));
        }
        let tx_code = wish.tx_code.then(six_digits).transpose()?;
        let reference = wish.by_reference.then(secret).transpose()?;
        let code = reference.as_deref().map_or_else(secret, |it| Ok(code_behind(it)))?;
        let mut grant = json!({});
        if let (true, Some(members)) = (wish.tx_code, grant.as_object_mut()) {
            let description = "The code that the sandbox shows";
            members.insert(
                "tx_code".into(),
                json!({ "input_mode": "numeric", "length": 6, "description": description }),
            );
        }
        let without_code = json!({
            "credential_issuer": issuer,
            "credential_configuration_ids": [wish.sample.id()],
            "grants": { PRE_AUTHORIZED: grant },
        });
        let document = with_code(&without_code, &code);
        self.made = self.made.saturating_add(1);
        // Random, because a counter alone would reveal how many there were, and the file of issued
        // samples has ids of former runs.
        let id = format!("offer_{}_{}", self.made, hex(&random::<4>()?));
        let uri = reference.as_ref().map(|reference| format!("{issuer}/offers/{reference}"));
        let (name, value) = match &uri {
            Some(uri) => ("credential_offer_uri", uri.clone()),
            None => ("credential_offer", document.to_string()),
        };
        let scheme = if wish.haip { "haip-vci" } else { "openid-credential-offer" };
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        // A space is written as %20, for wallets that do not decode forms.
        let link = format!("{scheme}://credential_offer?{name}={}", value.replace('+', "%20"));
        let with_tx_code = |tx_code: &String| digest(&format!("{code} {tx_code}"));
        self.all.push(Offer {
            id: id.clone(),
            sample: wish.sample,
            attested: wish.attested,
            progress: Progress::Offered,
            rule: None,
            made_at: now_ms,
            expires_at: now_ms.saturating_add(OFFER_LIFE_MS),
            code: digest(&code),
            tx_code: tx_code.as_ref().map(with_tx_code),
            wrong_tx_codes: 0,
            requests: 0,
            is_closed: false,
            reference: reference.as_deref().map(digest),
            document: without_code,
        });
        Ok(Made {
            id,
            link,
            credential_offer: document,
            credential_offer_uri: uri,
            tx_code,
            configuration: wish.sample.id(),
        })
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Offer> {
        self.all.iter()
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Offer> {
        self.all.iter_mut().find(|offer| offer.id == id)
    }

    /// The offer object for a reference, while the offer is open.
    pub(super) fn behind(&mut self, reference: &str, attested: bool, now_ms: u64) -> Option<Value> {
        let kept = Some(digest(reference));
        let found = self.all.iter_mut().find(|offer| {
            offer.reference == kept && offer.attested == attested && offer.is_open(now_ms)
        })?;
        found.requests = found.requests.saturating_add(1);
        let is_served = found.requests <= MAX_REQUESTS_OF_OFFER;
        is_served.then(|| with_code(&found.document, &code_behind(reference)))
    }

    /// Records that a wallet read the issuer's metadata, which is its first step. Returns whether
    /// an offer changed.
    pub(super) fn metadata_was_read(&mut self, attested: bool, now_ms: u64) -> bool {
        let mut changed = false;
        let waits = |offer: &&mut Offer| {
            offer.attested == attested
                && offer.progress == Progress::Offered
                && offer.is_open(now_ms)
        };
        for offer in self.all.iter_mut().filter(waits) {
            offer.progress = Progress::MetadataFetched;
            changed = true;
        }
        changed
    }

    /// The open offer for a code.
    ///
    /// # Errors
    /// There is none: the code is unknown, used, void, expired, or of the other issuer.
    pub(super) fn of_code(
        &mut self,
        code: &str,
        attested: bool,
        now_ms: u64,
    ) -> Result<&mut Offer, Refusal> {
        let code = digest(code);
        let found = self.all.iter_mut().find(|offer| offer.code == code);
        let offer = found
            .filter(|offer| offer.attested == attested && offer.is_open(now_ms))
            .ok_or_else(|| {
                Refusal::new("invalid_grant", "the pre-authorized code is unknown, used or expired")
            })?;
        offer.requests = offer.requests.saturating_add(1);
        if offer.requests > MAX_REQUESTS_OF_OFFER {
            offer.is_closed = true;
            let rule = "the pre-authorized code was sent too often and is void";
            return Err(Refusal::new("invalid_grant", rule));
        }
        Ok(offer)
    }

    /// The id and the sample of the open offer for a code. This does not count as a request for the
    /// offer.
    pub(super) fn named_by(
        &self,
        code: &str,
        attested: bool,
        now_ms: u64,
    ) -> Option<(&str, Sample)> {
        let code = digest(code);
        let offer = self.all.iter().find(|offer| offer.code == code)?;
        let is_named = offer.attested == attested && offer.is_open(now_ms);
        is_named.then_some((&*offer.id, offer.sample))
    }

    /// Closes the offer and stores a token for it; returns the token.
    ///
    /// # Errors
    /// There is no room, or the system has no random bytes; the offer stays open.
    pub(super) fn grant(
        &mut self,
        offer: &str,
        bound_to: Option<String>,
        now_ms: u64,
    ) -> Result<String, Refusal> {
        let token = secret().map_err(|_| Refusal::unavailable("the system has no random bytes"))?;
        let Some(found) = self.all.iter_mut().find(|one| one.id == offer) else {
            return Err(Refusal::new("invalid_grant", "the offer no longer exists"));
        };
        let kept = Token {
            offer: found.id.clone(),
            attested: found.attested,
            sample: found.sample,
            bound_to,
            is_used: false,
            notification: None,
            requests: 0,
        };
        let until = now_ms.saturating_add(TOKEN_LIFE_MS);
        self.tokens
            .keep(digest(&token), kept, until, now_ms)
            .map_err(|Full| Refusal::unavailable("there are too many access tokens"))?;
        found.is_closed = true;
        Ok(token)
    }

    /// The token, if it is valid at the issuer and within its number of requests.
    pub(super) fn present(&mut self, token: &str, attested: bool, now_ms: u64) -> Option<&Token> {
        let key = digest(token);
        let found = self.tokens.get_mut(&key, now_ms).filter(|token| token.attested == attested)?;
        found.requests = found.requests.saturating_add(1);
        if found.requests > MAX_REQUESTS_OF_OFFER {
            self.tokens.remove(&key);
        }
        self.tokens.get(&key, now_ms)
    }

    /// The token, for a change.
    pub(super) fn token(&mut self, token: &str, now_ms: u64) -> Option<&mut Token> {
        self.tokens.get_mut(&digest(token), now_ms)
    }
}

impl Offer {
    /// Whether its code can be redeemed.
    pub(super) fn is_open(&self, now_ms: u64) -> bool {
        !self.is_closed && now_ms < self.expires_at
    }

    /// Compares the code that the person typed; the fifth wrong one voids the offer.
    ///
    /// # Errors
    /// The code is missing, not expected, or wrong.
    pub(super) fn check_tx_code(&mut self, code: &str, given: Option<&str>) -> Result<(), Refusal> {
        match (&self.tx_code, given) {
            (None, None) => Ok(()),
            (None, Some(_)) => {
                Err(Refusal::new("invalid_request", "tx_code was sent but is not expected"))
            }
            (Some(_), None) => Err(Refusal::new("invalid_request", "tx_code is missing")),
            (Some(expected), Some(given)) => {
                if ct::eq(expected, &digest(&format!("{code} {given}"))) {
                    return Ok(());
                }
                self.wrong_tx_codes = self.wrong_tx_codes.saturating_add(1);
                if self.wrong_tx_codes < MAX_WRONG_TX_CODES {
                    return Err(Refusal::new("invalid_grant", "tx_code is wrong"));
                }
                self.is_closed = true;
                let rule = "tx_code is wrong for the fifth time and the offer is void";
                Err(Refusal::new("invalid_grant", rule))
            }
        }
    }

    /// Sets the progress; returns whether it is new.
    pub(super) fn is_at(&mut self, progress: Progress, rule: Option<&'static str>) -> bool {
        let changed = self.progress != progress || self.rule != rule;
        (self.progress, self.rule) = (progress, rule);
        changed
    }

    /// Records that a request for it was refused; returns whether this changed its progress. If a
    /// wallet has the samples already, it keeps them.
    pub(super) fn is_refused(&mut self, rule: &'static str) -> bool {
        if matches!(self.progress, Progress::Issued | Progress::Stored) {
            self.rule = Some(rule);
            return false;
        }
        self.is_at(Progress::Failed, Some(rule))
    }
}

/// The code of an offer by reference. It is derived from the reference, so that memory contains
/// neither.
fn code_behind(reference: &str) -> String {
    base64url(&digest(&format!("code of {reference}")))
}

fn with_code(document: &Value, code: &str) -> Value {
    let mut document = document.clone();
    let grants = document.get_mut("grants").and_then(|grants| grants.get_mut(PRE_AUTHORIZED));
    if let Some(grant) = grants.and_then(Value::as_object_mut) {
        grant.insert("pre-authorized_code".into(), code.into());
    }
    document
}

fn six_digits() -> Result<String, String> {
    // From 64 random bits, so that the probabilities of codes differ by less than one in 10^13.
    Ok(format!("{:06}", u64::from_be_bytes(random()?) % 1_000_000))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
