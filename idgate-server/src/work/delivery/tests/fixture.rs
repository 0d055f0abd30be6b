//! A data directory with a client, a receiver on loopback, and the deliverer between the two.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use idgate::Egress;
use idgate::loopback::read_head;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::WEBHOOK_TOLERANCE_MS;
use idgate_core::shell::webhook::{Received, SigningSecret};
use idgate_core::{NewSession, Request, Session, SessionId, Trust, UnixMillis, Verifier};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::config::{Cidr, Environment, Quotas};
use crate::work::delivery::{Courier, Delivery};
use idgate_base::api_key::signing_secret;
use idgate_base::clock::{Clock, VirtualClock};
use idgate_base::entropy::OsEntropy;
use idgate_store::upkeep::Upkeep;
use idgate_store::wait::Wait as _;
use idgate_store::{
    Caller, DeadLetter, DeadLetterPage, EndpointRecord, EndpointRequest, Made, OperatorStore,
    PageError, Replay, Review, Store, StoreOptions, TrustChange,
};

pub(super) const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
pub(super) const MINUTE: u64 = 60_000;
pub(super) const HOUR: u64 = 60 * MINUTE;
const JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;
const HOST: &str = "127.0.0.1";

pub(super) struct Fixture {
    delivery: Delivery,
    store: Option<Arc<Store>>,
    dir: TempDir,
    pub(super) clock: VirtualClock,
    pub(super) receiver: Receiver,
    pub(super) caller: Caller,
    pub(super) provisioned: SigningSecret,
    /// The current secret.
    pub(super) secret: SigningSecret,
}

impl Fixture {
    /// With a test-mode client without an endpoint.
    pub(super) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut operator = operator(dir.path());
        let change = TrustChange {
            claims: Some(vec!["given_name".into()]),
            keys: vec![(idgate_core::shell::Jwk::parse(JWK.as_bytes()).unwrap().key, None)],
            ..TrustChange::default()
        };
        operator.add_trust("issuer", &change, NOW).unwrap().unwrap();
        let made = operator.create_client("shop", false, None, NOW).unwrap();
        let clock = VirtualClock::at(NOW);
        let store = Arc::new(open(&dir));
        let caller = store.authenticate(&made.api_key.digest(), NOW).wait().unwrap().unwrap();
        let secret = SigningSecret::new(&**made.signing_secret).unwrap();
        let delivery = deliverer(&store, &clock, true);
        let receiver = Receiver::start().await;
        let (store, provisioned) = (Some(store), secret.clone());
        Self { delivery, store, dir, clock, receiver, caller, provisioned, secret }
    }

    /// With an endpoint at the receiver whose host is not reviewed.
    pub(super) async fn with_endpoint() -> Self {
        let mut fixture = Self::new().await;
        let first = fixture.put_endpoint(None).await;
        assert_eq!(
            first.expose(),
            fixture.provisioned.expose(),
            "the provisioned secret is in force"
        );
        fixture
    }

    pub(super) async fn approved() -> Self {
        let mut fixture = Self::with_endpoint().await;
        fixture.review(Review::Approve);
        fixture
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        self.store.as_ref().unwrap()
    }

    pub(super) fn operator(&self) -> Box<OperatorStore> {
        operator(self.dir.path())
    }

    pub(super) fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    pub(super) async fn put_endpoint(&mut self, secret: Option<&str>) -> SigningSecret {
        let secret = secret.map(|text| SigningSecret::new(text).unwrap());
        self.put(self.receiver.url("/hook"), HOST, secret).await
    }

    pub(super) async fn put_endpoint_at(&mut self, path: &str) {
        self.put(self.receiver.url(path), HOST, None).await;
    }

    pub(super) async fn put_endpoint_host(&mut self, host: &str) {
        self.put(format!("https://{host}/"), host, None).await;
    }

    async fn put(
        &mut self,
        url: String,
        host: &str,
        secret: Option<SigningSecret>,
    ) -> SigningSecret {
        let fresh = SigningSecret::new(&**signing_secret(&mut OsEntropy).unwrap()).unwrap();
        let wish = EndpointRequest { url, host: host.into(), secret, fresh };
        let put = self.store().put_webhook_endpoint(&self.caller, wish, self.now());
        let (_, secret) = put.await.unwrap().unwrap();
        self.secret = secret.clone();
        secret
    }

    pub(super) fn endpoint(&self) -> EndpointRecord {
        self.store().webhook_endpoint(&self.caller).wait().unwrap().unwrap()
    }

    /// Reviews a host; returns how many notifications were given up.
    pub(super) fn review(&mut self, review: Review<'_>) -> usize {
        self.operator().review_webhook_host(HOST, review, self.now()).unwrap()
    }

    pub(super) async fn open_session(&self) -> Session {
        let trust = self.store().trust().wait().unwrap();
        let body = br#"{"issuer_id":"issuer"}"#;
        let request = Request::from_json(body).unwrap();
        let verifier = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
            .profiles([idgate_core::Profile::Draft])
            .unsigned("http://localhost");
        let new = NewSession::of(self.caller.mode()).tenant(self.caller.client_id.clone());
        let created_at = self.now().minus(300_000);
        let verifier = verifier.build().unwrap();
        let transition =
            verifier.create_session(&request, new, &mut OsEntropy, created_at).unwrap();
        let session = transition.session.clone();
        let made = self.store().create_session(&self.caller, transition).await.unwrap();
        assert_eq!(made, Made::Yes);
        session
    }

    pub(super) async fn expire(&self, session: Session) -> String {
        let transition = session.expired(session.expires_at()).unwrap();
        self.store().commit(transition, None).await.unwrap();
        session.id().as_str().to_owned()
    }

    /// A session that expires now.
    pub(super) async fn settle(&self) -> String {
        self.expire(self.open_session().await).await
    }

    /// Runs the sweeper; returns how many sessions it settled.
    pub(super) async fn sweep(&self) -> usize {
        let upkeep = Upkeep::new(self.store().clone(), Arc::new(self.clock.clone()));
        upkeep.expire().await.unwrap()
    }

    pub(super) async fn delete(&self, id: &str) {
        let id = SessionId::new(id);
        assert!(self.store().delete_session(&self.caller, &id, self.now()).await.unwrap());
    }

    /// Sends the due notifications and waits for the outcome; returns how many.
    pub(super) async fn round(&mut self) -> usize {
        let started = self.start_round().await;
        self.delivery.finish().await;
        started
    }

    pub(super) async fn start_round(&mut self) -> usize {
        self.delivery.send_due().await.unwrap()
    }

    /// Drops exchanges in progress.
    pub(super) fn restart_delivery(&mut self) {
        self.delivery = deliverer(self.store(), &self.clock, true);
    }

    pub(super) fn forbid_http(&mut self) {
        self.delivery = deliverer(self.store(), &self.clock, false);
    }

    /// Simulates another process on the same directory.
    pub(super) async fn reopen(&mut self) {
        self.delivery = deliverer(self.store(), &self.clock, true);
        let store = self.store.take().unwrap();
        // The deliverer holds the store, too.
        let nothing = idgate_store::fixtures::TemporaryStore::default().shared();
        self.delivery = Delivery::new(nothing, Arc::new(self.clock.clone()), courier(true), None);
        drop(store);
        let store = Arc::new(open(&self.dir));
        store.release_leases(self.now()).await.unwrap();
        self.delivery = deliverer(&store, &self.clock, true);
        self.store = Some(store);
    }

    pub(super) async fn release_leases(&self) -> usize {
        self.store().release_leases(self.now()).await.unwrap()
    }

    pub(super) async fn tidy(&self) -> usize {
        self.delivery.tidy().await.unwrap()
    }

    /// Rows in the outbox, including dead letters.
    pub(super) fn waiting(&self) -> usize {
        let main = rusqlite::Connection::open(self.dir.path().join("idgate.db")).unwrap();
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let count = main.query_row("SELECT count(*) FROM webhook_deliveries", [], count);
        usize::try_from(count.unwrap()).unwrap()
    }

    pub(super) fn dead_letters(&self) -> Vec<DeadLetter> {
        self.page(None, 100).unwrap().letters
    }

    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DeadLetterPage, PageError> {
        self.page_as(&self.caller, cursor, limit)
    }

    pub(super) fn page_as(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DeadLetterPage, PageError> {
        self.store().dead_letters(caller, cursor, limit, self.now()).wait()
    }

    pub(super) async fn retry(&self, id: &str) -> Option<Replay> {
        self.retry_as(&self.caller, id).await
    }

    pub(super) async fn retry_as(&self, caller: &Caller, id: &str) -> Option<Replay> {
        self.store().replay_dead_letter(caller, id, self.now()).await.unwrap()
    }

    pub(super) fn other_client(&self) -> Caller {
        let made = self.operator().create_client("other", false, None, NOW).unwrap();
        self.store().authenticate(&made.api_key.digest(), NOW).wait().unwrap().unwrap()
    }
}

fn open(dir: &TempDir) -> Store {
    let options = StoreOptions {
        instance_key: None,
        environment: Environment::Development,
        quotas: Quotas::default(),
    };
    Store::open(dir.path(), options, NOW).unwrap()
}

fn courier(allow_http: bool) -> Courier {
    let egress = Egress::new(vec![Cidr::parse("127.0.0.0/8").unwrap()], None).unwrap();
    Courier::new(PROVIDER, Arc::new(egress), allow_http)
}

fn deliverer(store: &Arc<Store>, clock: &VirtualClock, allow_http: bool) -> Delivery {
    Delivery::new(store.clone(), Arc::new(clock.clone()), courier(allow_http), None)
}

/// A webhook receiver that remembers its requests.
pub(super) struct Receiver {
    address: SocketAddr,
    seen: Arc<Seen>,
    _serving: JoinSet<()>,
}

struct Seen {
    answer: Mutex<String>,
    sent: Mutex<Vec<Sent>>,
    gate: Semaphore,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) head: String,
    pub(super) body: String,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answer, sent) = (Mutex::default(), Mutex::default());
        let seen = Arc::new(Seen { answer, sent, gate: Semaphore::new(1) });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, seen.clone()));
        let receiver = Self { address, seen, _serving: serving };
        receiver.answer("200 OK", "");
        receiver
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the response from now on.
    pub(super) fn answer(&self, status: &str, headers: &str) {
        let text = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
        *self.seen.answer.lock().unwrap() = text;
    }

    pub(super) fn close_gate(&self) {
        self.seen.gate.forget_permits(1);
    }

    pub(super) fn open_gate(&self) {
        self.seen.gate.add_permits(1);
    }

    pub(super) fn all(&self) -> Vec<Sent> {
        self.seen.sent.lock().unwrap().clone()
    }

    pub(super) fn only(&self) -> Sent {
        let all = self.all();
        assert_eq!(all.len(), 1);
        all[0].clone()
    }

    pub(super) fn last(&self) -> Sent {
        self.all().pop().unwrap()
    }
}

impl Sent {
    pub(super) fn header(&self, name: &str) -> String {
        let mut values = self.head.lines().filter_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        });
        let value = values.next().unwrap_or_else(|| panic!("no {name} in {}", self.head));
        assert_eq!(values.next(), None, "{name} twice");
        value
    }

    pub(super) fn session(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        body["sessionId"].as_str().unwrap().to_owned()
    }

    /// Checks both signatures.
    pub(super) fn verify(&self, secret: &SigningSecret, now: UnixMillis) {
        let (timestamp, signature) = (self.header("x-timestamp"), self.header("x-signature"));
        self.received(now).verify(&PROVIDER, secret, &timestamp, &signature).unwrap();
        assert!(self.is_signed_by(secret, now));
    }

    pub(super) fn is_signed_by(&self, secret: &SigningSecret, now: UnixMillis) -> bool {
        let [id, timestamp, signature] =
            ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| self.header(name));
        let received = self.received(now);
        received.verify_standard(&PROVIDER, secret, &id, &timestamp, &signature).is_ok()
    }

    fn received(&self, now: UnixMillis) -> Received<'_> {
        Received { body: self.body.as_bytes(), now, tolerance_ms: WEBHOOK_TOLERANCE_MS }
    }
}

async fn serve(listener: TcpListener, seen: Arc<Seen>) {
    let mut exchanges = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let seen = seen.clone();
        exchanges.spawn(async move { exchange(stream, &seen).await });
    }
}

async fn exchange(mut stream: TcpStream, seen: &Seen) {
    let Some(head) = read_head(&mut stream).await else { return };
    let mut sent = Sent { head, body: String::new() };
    let mut body = vec![0; sent.header("content-length").parse().unwrap()];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    sent.body = String::from_utf8(body).unwrap();
    seen.sent.lock().unwrap().push(sent);
    let _open = seen.gate.acquire().await.unwrap();
    let answer = seen.answer.lock().unwrap().clone();
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn operator(dir: &Path) -> Box<OperatorStore> {
    Box::new(OperatorStore::open(dir, None).unwrap())
}
