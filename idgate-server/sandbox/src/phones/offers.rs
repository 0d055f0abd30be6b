//! Offers, and what became of each: the codes and tokens that strangers present for them, kept as digests in memory.

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

/// How far an offer is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Progress {
    /// It waits for a phone.
    Offered,
    /// Since it was made a wallet read the issuer's metadata.
    MetadataFetched,
    /// A wallet has an access token for it.
    Token,
    /// A wallet has its samples.
    Issued,
    /// The wallet says that it stored them.
    Stored,
    /// A request for it was refused before a wallet had its samples, or the wallet gave them up.
    Failed,
}

impl Progress {
    /// Its name in words.
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
    /// Whether the person types a code.
    pub(crate) tx_code: bool,
    /// Of the issuer that demands attestations.
    pub(crate) attested: bool,
    /// With the scheme of HAIP.
    pub(crate) haip: bool,
}

/// A new offer with its secrets, which are shown once. It has no `Debug`: they belong into no log.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) link: String,
    pub(crate) credential_offer: Value,
    pub(crate) credential_offer_uri: Option<String>,
    pub(crate) tx_code: Option<String>,
    pub(crate) configuration: &'static str,
}

/// An offer that was made.
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
    /// Its code was used, or burned.
    is_closed: bool,
    reference: Option<Digest>,
    /// The object behind its reference, without the code.
    document: Value,
}

/// An access token.
#[derive(Debug)]
pub(super) struct Token {
    /// The id of the offer.
    pub(super) offer: String,
    pub(super) attested: bool,
    pub(super) sample: Sample,
    /// The thumbprint of the key that it is bound to; `None`: a bearer token.
    pub(super) bound_to: Option<String>,
    /// Whether its one batch was issued.
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

    /// Makes an offer of the issuer whose identifier is `issuer`.
    ///
    /// # Errors
    /// There are as many open offers as there may be, or the system has no random bytes.
    pub(super) fn make(&mut self, wish: Wish, issuer: &str, now_ms: u64) -> Result<Made, String> {
        if self.all.iter().filter(|offer| offer.is_open(now_ms)).count() >= MAX_OPEN_OFFERS {
            return Err(format!(
                "{MAX_OPEN_OFFERS} offers are open, and a sandbox has no more; wait until one is used or over"
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
        // Its number would say how many there were, and ids of a former start are in the file of issued samples.
        let id = format!("offer_{}_{}", self.made, hex(&random::<4>()?));
        let uri = reference.as_ref().map(|reference| format!("{issuer}/offers/{reference}"));
        let (name, value) = match &uri {
            Some(uri) => ("credential_offer_uri", uri.clone()),
            None => ("credential_offer", document.to_string()),
        };
        let scheme = if wish.haip { "haip-vci" } else { "openid-credential-offer" };
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        // A blank is %20 for wallets that decode no forms.
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

    /// The object behind a reference, while the offer is open.
    pub(super) fn behind(&mut self, reference: &str, attested: bool, now_ms: u64) -> Option<Value> {
        let kept = Some(digest(reference));
        let found = self.all.iter_mut().find(|offer| {
            offer.reference == kept && offer.attested == attested && offer.is_open(now_ms)
        })?;
        found.requests = found.requests.saturating_add(1);
        let is_served = found.requests <= MAX_REQUESTS_OF_OFFER;
        is_served.then(|| with_code(&found.document, &code_behind(reference)))
    }

    /// A wallet read the metadata of the issuer, which is its first step. Gives whether an offer changed.
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

    /// The open offer of a code.
    ///
    /// # Errors
    /// There is none: unknown, used, burned, over, or of the other issuer.
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
                Refusal::new("invalid_grant", "the pre-authorized code is unknown, used or over")
            })?;
        offer.requests = offer.requests.saturating_add(1);
        if offer.requests > MAX_REQUESTS_OF_OFFER {
            offer.is_closed = true;
            let rule = "the pre-authorized code came too often and is burned";
            return Err(Refusal::new("invalid_grant", rule));
        }
        Ok(offer)
    }

    /// The id and the sample of the open offer of a code. The request does not count as one for the offer.
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

    /// Closes the offer and keeps a token for it; gives the token.
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
            return Err(Refusal::new("invalid_grant", "the offer is gone"));
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

    /// The token, while it is good at the issuer, for one of a bounded number of requests.
    pub(super) fn present(&mut self, token: &str, attested: bool, now_ms: u64) -> Option<&Token> {
        let key = digest(token);
        let found = self.tokens.get_mut(&key, now_ms).filter(|token| token.attested == attested)?;
        found.requests = found.requests.saturating_add(1);
        if found.requests > MAX_REQUESTS_OF_OFFER {
            self.tokens.remove(&key);
        }
        self.tokens.get(&key, now_ms)
    }

    /// The same token, for a change.
    pub(super) fn token(&mut self, token: &str, now_ms: u64) -> Option<&mut Token> {
        self.tokens.get_mut(&digest(token), now_ms)
    }
}

impl Offer {
    /// Whether its code can be redeemed.
    pub(super) fn is_open(&self, now_ms: u64) -> bool {
        !self.is_closed && now_ms < self.expires_at
    }

    /// Compares the code that the person typed; the fifth wrong one burns the offer.
    ///
    /// # Errors
    /// It is missing, not asked for, or wrong.
    pub(super) fn check_tx_code(&mut self, code: &str, given: Option<&str>) -> Result<(), Refusal> {
        match (&self.tx_code, given) {
            (None, None) => Ok(()),
            (None, Some(_)) => {
                Err(Refusal::new("invalid_request", "tx_code was sent and is not asked for"))
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
                let rule = "tx_code is wrong for the fifth time and the offer is burned";
                Err(Refusal::new("invalid_grant", rule))
            }
        }
    }

    /// Says where it is; whether that is new.
    pub(super) fn is_at(&mut self, progress: Progress, rule: Option<&'static str>) -> bool {
        let changed = self.progress != progress || self.rule != rule;
        (self.progress, self.rule) = (progress, rule);
        changed
    }

    /// A request for it was refused; whether it is somewhere else by that. A wallet that has its samples keeps them.
    pub(super) fn is_refused(&mut self, rule: &'static str) -> bool {
        if matches!(self.progress, Progress::Issued | Progress::Stored) {
            self.rule = Some(rule);
            return false;
        }
        self.is_at(Progress::Failed, Some(rule))
    }
}

/// The code of an offer by reference: made from the reference, so that memory has neither of them.
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
    // Of 64 random bits, so that no code is likelier than another by more than one in 10^13.
    Ok(format!("{:06}", u64::from_be_bytes(random()?) % 1_000_000))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
