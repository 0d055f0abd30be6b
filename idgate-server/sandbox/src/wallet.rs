//! The built-in wallet. It reads the request behind a link, in any profile, and answers it
//! correctly or in one of the ways that a gateway must refuse.

use clap::ValueEnum;
use idgate_testkit::jws;
use idgate_testkit::openid4vp::{
    Answer, Expected, Fetched, Keys, Link, Prefix, Query, Request, WALLET_NONCE,
};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{Body, JarAnswer, Transcript, Wallet};
use serde_json::{Map, Value, json};

use super::issuers::{Condition, Provider};
use super::way::{Reply, Way};

/// What the wallet does with a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Deed {
    /// Present the requested credentials
    Accept,
    /// Report that the person declined
    Decline,
    /// Present a credential that its issuer did not sign
    Forge,
    /// Present an expired credential
    Expired,
    /// Present a revoked credential
    Revoked,
    /// Prove possession of the key for another request
    #[value(alias = "wrong_nonce")]
    WrongNonce,
}

impl Deed {
    /// All actions, each with its button's label and a description.
    pub(super) const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Accept, "Accept", "Presents the requested credentials."),
        (Self::Decline, "Decline", "The person declines."),
        (Self::Forge, "Forge", "A credential that its issuer did not sign."),
        (Self::Expired, "Expired", "A credential that has expired."),
        (Self::Revoked, "Revoked", "A credential that its issuer has revoked."),
        (Self::WrongNonce, "Wrong nonce", "A proof made for another request (a replay)."),
    ];

    /// The expected outcome at a gateway, for a session with mdocs or without.
    pub(super) const fn outcome(self, has_mdoc: bool) -> &'static str {
        match self {
            Self::Accept => "VERIFIED",
            Self::Decline => "FAILED wallet_error",
            Self::Forge => "FAILED issuer_signature_invalid",
            Self::Expired => "FAILED credential_expired",
            Self::Revoked => "FAILED credential_revoked",
            Self::WrongNonce if has_mdoc => "FAILED device_auth_invalid",
            Self::WrongNonce => "FAILED nonce_mismatch",
        }
    }

    /// Its name for `--do` and in forms.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Forge => "forge",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::WrongNonce => "wrong-nonce",
        }
    }

    /// By its name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }

    /// Whether a gateway must accept it: a valid answer, or an error response.
    pub(super) const fn is_to_be_taken(self) -> bool {
        matches!(self, Self::Accept | Self::Decline)
    }

    const fn condition(self) -> Condition {
        match self {
            Self::Forge => Condition::Forged,
            Self::Expired => Condition::Expired,
            Self::Revoked => Condition::Revoked,
            Self::Accept | Self::Decline | Self::WrongNonce => Condition::Good,
        }
    }
}

/// A posted answer.
pub(super) struct Answered {
    /// The verifier's client identifier, as the wallet established it.
    pub(super) client_id: String,
    pub(super) response_uri: String,
    /// The parameters before encryption.
    pub(super) sent: Map<String, Value>,
    pub(super) reply: Reply,
}

/// An answer ready to be posted.
struct Ready {
    client_id: String,
    response_uri: String,
    /// The parameters before encryption.
    sent: Map<String, Value>,
    body: Body,
}

/// The holder of the credentials of one provider.
pub(super) struct Holder<'a> {
    pub(super) provider: &'a Provider,
    pub(super) way: &'a Way,
    pub(super) now_ms: u64,
}

impl Holder<'_> {
    /// Answers the request behind `link`.
    ///
    /// # Errors
    /// A wallet would not answer it, or it leads off this machine; nothing was posted.
    pub(super) async fn answer(&self, link: &str, deed: Deed) -> Result<Answered, String> {
        if deed == Deed::Revoked && !self.provider.publishes_status() {
            return Err(
                "the built-in samples have no status list, so none of them is revoked; start \
                        `idgate sandbox`, and let the gateway trust its issuers"
                    .into(),
            );
        }
        let ready = match Link::read(link).0 {
            Link::ByValue(given) if given.contains_key("dcql_query") => {
                self.answer_1_0(link, None, &given, deed).await?
            }
            Link::ByValue(_) => self.answer_draft(link, deed)?,
            Link::ByReference { client_id, request_uri, post } => {
                let fetched = self.fetch(&request_uri, post).await?;
                match client_id.starts_with("did:") {
                    true => self.answer_signed_draft(link, &fetched.jwt, deed).await?,
                    false => {
                        let claims = jws::payload(&fetched.jwt);
                        let claims = claims.and_then(|claims| claims.as_object().cloned());
                        let claims = claims.ok_or("the request is not a JWT")?;
                        self.answer_1_0(link, Some(fetched), &claims, deed).await?
                    }
                }
            }
        };
        let reply = self.way.post(&ready.response_uri, &ready.body).await?;
        let Ready { client_id, response_uri, sent, .. } = ready;
        Ok(Answered { client_id, response_uri, sent, reply })
    }

    fn wallet(&self, deed: Deed) -> Wallet {
        self.provider.wallet(deed.condition(), self.now_ms)
    }

    fn answer_draft(&self, link: &str, deed: Deed) -> Result<Ready, String> {
        let mut request = AuthorizationRequest::parse(link).map_err(explain)?;
        let sent = match deed {
            Deed::Decline => declined(&request.state),
            _ => {
                spoil(&mut request.nonce, deed);
                self.wallet(deed).answer(&request, self.now_ms).map_err(explain)?.parameters()
            }
        };
        let (body, AuthorizationRequest { client_id, response_uri, .. }) =
            (Body::form(&sent), request);
        Ok(Ready { client_id, response_uri, sent, body })
    }

    async fn answer_signed_draft(
        &self,
        link: &str,
        jwt: &str,
        deed: Deed,
    ) -> Result<Ready, String> {
        let link = JarLink::parse(link).map_err(explain)?;
        let document = link.did_document_url().ok_or("the client is not a did:web")?;
        let document = self.way.get(&document).await?.json();
        let mut jar = JarRequest::verify(&link, jwt, &document, self.now_ms).map_err(explain)?;
        let answer = match deed {
            Deed::Decline => JarAnswer::error(&jar, DECLINED),
            _ => {
                spoil(&mut jar.request.nonce, deed);
                let wallet = self.wallet(deed);
                let answer = wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, self.now_ms);
                answer.map_err(explain)?
            }
        };
        let (client_id, body) = (link.client_id, answer.form_body());
        let JarAnswer { response_uri, payload: sent, .. } = answer;
        Ok(Ready { client_id, response_uri, sent, body })
    }

    /// `given` holds the parameters of the link or of the Request Object, not yet checked.
    async fn answer_1_0(
        &self,
        link: &str,
        fetched: Option<Fetched>,
        given: &Map<String, Value>,
        deed: Deed,
    ) -> Result<Ready, String> {
        let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        if given.contains_key("transaction_data") && deed != Deed::Decline {
            return Err(
                "the request carries transaction_data, to which the built-in wallet cannot \
                        consent; decline it, or omit transaction_data"
                    .into(),
            );
        }
        let prefix = prefix(text("client_id"))?;
        let did_document = match prefix {
            Prefix::DecentralizedIdentifier => Some(self.did_document(given).await?),
            _ => None,
        };
        let query = given.get("dcql_query").cloned().unwrap_or_default();
        let query = match query.as_str() {
            Some(text) => serde_json::from_str(text).unwrap_or_default(),
            None => query,
        };
        let expected = Expected {
            prefix,
            encrypted: text("response_mode") == "direct_post.jwt",
            formats: Query::read(&query).credentials.iter().map(|one| one.format).collect(),
            haip: false,
            transaction_data: given.contains_key("transaction_data"),
            anchor: None,
            did_document,
            now_ms: self.now_ms,
        };
        let (mut request, findings) =
            Request::read(link, fetched.as_ref(), &expected, &mut Keys::default());
        let is_plain = request.response_uri.starts_with("http://");
        findings.refusal(is_plain).map_or(Ok(()), Err)?;
        let answer = match deed {
            Deed::Decline => Answer::error(&request, DECLINED, true),
            _ => {
                spoil(&mut request.nonce, deed);
                self.wallet(deed).answer_1_0(&request, self.now_ms).map_err(explain)?
            }
        };
        let body = answer.body();
        let Answer { response_uri, parameters: sent, .. } = answer;
        Ok(Ready { client_id: request.client_id, response_uri, sent, body })
    }

    /// Fetches the Request Object behind a link, by POST if the link allows it.
    async fn fetch(&self, request_uri: &str, post: bool) -> Result<Fetched, String> {
        let reply = match post {
            true => self.way.post(request_uri, &Link::fetch_form(WALLET_NONCE)).await?,
            false => self.way.get(request_uri).await?,
        };
        if !reply.status.is_success() {
            let said = format!("{} {}", reply.status.as_u16(), reply.text());
            return Err(format!("cannot fetch the request: {said}"));
        }
        Ok(Fetched::new(reply.text(), reply.content_type, post))
    }

    async fn did_document(&self, given: &Map<String, Value>) -> Result<Value, String> {
        let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let did = text("client_id").strip_prefix(Prefix::DecentralizedIdentifier.text());
        // The document's location follows from the DID; its scheme follows from where the answer
        // goes.
        let link = JarLink {
            client_id: did.unwrap_or_default().to_owned(),
            request_uri: text("response_uri").to_owned(),
        };
        let url = link.did_document_url().ok_or("the client is not a did:web")?;
        Ok(self.way.get(&url).await?.json())
    }
}

/// RFC 6749 4.1.2.1
const DECLINED: &str = "access_denied";

fn declined(state: &str) -> Map<String, Value> {
    let members = json!({ "error": DECLINED, "state": state });
    members.as_object().cloned().unwrap_or_default()
}

/// Replaces the nonce by one of another request.
fn spoil(nonce: &mut String, deed: Deed) {
    if deed == Deed::WrongNonce {
        *nonce = nonce.chars().map(|c| if c == 'A' { 'B' } else { 'A' }).collect();
    }
}

fn prefix(client_id: &str) -> Result<Prefix, String> {
    let known = [
        Prefix::RedirectUri,
        Prefix::DecentralizedIdentifier,
        Prefix::X509SanDns,
        Prefix::X509Hash,
    ];
    let found = known.into_iter().find(|prefix| client_id.starts_with(prefix.text()));
    found.ok_or_else(|| format!("the wallet does not support client identifiers like {client_id}"))
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
