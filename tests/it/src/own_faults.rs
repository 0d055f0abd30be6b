//! The gateway's own faults never count against a wallet. Whatever the machine lacks, in any phase,
//! the answer is 503 with Retry-After, the session stays open or becomes open again, and the same
//! answer posted later is VERIFIED.

mod fault;
mod hosts;
mod source;
mod turns;

use std::thread;
use std::time::Duration;

use idgate_testkit::keys::Curve;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::{Value, json};

use self::fault::{Fault, Lasting, Patient};
use self::source::Source;
use self::turns::Turns;
use crate::http::{Http, Request, Response};
use crate::server::{Installation, Server, eventually};
use crate::tamper::scenario::Trust;
use crate::tenant::{Created, Tenant, answer_request, credential, request_for, sample_trust};

/// When a fault occurs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// A tenant creates a session.
    Create,
    /// The wallet fetches its request.
    RequestObject,
    /// The wallet answers, and nothing has to be fetched.
    Answer,
    /// The wallet answers, and its status has to be fetched.
    Hold,
    /// The fault begins while the status is being fetched.
    Settle,
}

/// The effect of a fault on a phase.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    /// 503: it cannot be done now.
    ComeBack,
    /// It needs nothing that is missing.
    Done,
    /// Either: a full disk may still have room inside its files.
    Either,
}

/// One test for each cell of the table.
macro_rules! cells {
    ($($fault:ident { $($name:ident: $phase:ident => $told:ident,)* })*) => {
        $($(
            #[test]
            fn $name() {
                cell(Fault::$fault, Phase::$phase, Told::$told);
            }
        )*)*
    };
}

cells! {
    NoPermit {
        no_permit_at_create: Create => Done,
        no_permit_at_request_object: RequestObject => Done,
        no_permit_at_answer: Answer => Done,
        no_permit_at_hold: Hold => ComeBack,
        no_permit_at_settle: Settle => Done,
    }
    NoDescriptor {
        no_descriptor_at_create: Create => Done,
        no_descriptor_at_request_object: RequestObject => Done,
        no_descriptor_at_answer: Answer => Done,
        no_descriptor_at_hold: Hold => ComeBack,
        no_descriptor_at_settle: Settle => Done,
    }
    NoRandomness {
        no_randomness_at_create: Create => ComeBack,
        no_randomness_at_request_object: RequestObject => ComeBack,
        no_randomness_at_answer: Answer => ComeBack,
        no_randomness_at_hold: Hold => ComeBack,
        no_randomness_at_settle: Settle => ComeBack,
    }
    DiskFull {
        disk_full_at_create: Create => Either,
        disk_full_at_request_object: RequestObject => Either,
        disk_full_at_answer: Answer => Either,
        disk_full_at_hold: Hold => Either,
        disk_full_at_settle: Settle => Either,
    }
    QueueFull {
        queue_full_at_create: Create => ComeBack,
        queue_full_at_request_object: RequestObject => ComeBack,
        queue_full_at_answer: Answer => ComeBack,
        queue_full_at_hold: Hold => ComeBack,
        queue_full_at_settle: Settle => ComeBack,
    }
    DatabaseLocked {
        database_locked_at_create: Create => ComeBack,
        database_locked_at_request_object: RequestObject => ComeBack,
        database_locked_at_answer: Answer => ComeBack,
        database_locked_at_hold: Hold => ComeBack,
        database_locked_at_settle: Settle => ComeBack,
    }
    ClockForward {
        clock_set_forward_at_create: Create => ComeBack,
        clock_set_forward_at_request_object: RequestObject => ComeBack,
        clock_set_forward_at_answer: Answer => ComeBack,
        clock_set_forward_at_hold: Hold => ComeBack,
        clock_set_forward_at_settle: Settle => ComeBack,
    }
    ClockBackward {
        clock_set_backward_at_create: Create => ComeBack,
        clock_set_backward_at_request_object: RequestObject => ComeBack,
        clock_set_backward_at_answer: Answer => ComeBack,
        clock_set_backward_at_hold: Hold => ComeBack,
        clock_set_backward_at_settle: Settle => ComeBack,
    }
}

/// An issuer that is trusted in addition to the sample issuer, with the same key.
const OTHER_ISSUER: &str = "other";
/// An answer waits 2 s for a turn to fetch; the timers count in milliseconds.
const FOR_A_TURN: Duration = Duration::from_millis(2100);
/// It then waits 5 s for its sources.
const FETCH: Duration = Duration::from_millis(5100);

/// A gateway on a machine that is about to have a fault. Time stands still during the fault,
/// however busy the real machine is: silent sources keep their turns, and answer later.
struct Ward {
    // Dropped before its directory.
    server: Server,
    installation: Installation,
    fault: Fault,
    tenant: Tenant,
    source: Source,
    frozen: bool,
}

/// A session and the wallet's answer to it.
struct Open {
    created: Created,
    body: Body,
}

impl Ward {
    fn start(fault: Fault) -> Option<Self> {
        let installation = Installation::new()
            .with("OID4VP_REQUEST_MODE", "jar")
            .with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8,::1")
            .with_machine();
        let installation = fault::prepare(fault, installation)?;
        let client = installation.create_client("shop", true);
        installation.trust(&sample_trust(), &[]);
        let other = Trust { issuer_id: OTHER_ISSUER.into(), ..sample_trust() };
        installation.trust(&other, &[]);
        let server = fault::serve(fault, &installation);
        let mut tenant = Tenant { http: Http::new(server.address), api_key: client.api_key };
        // Connected before the fault: without descriptors no new connection is possible.
        tenant.http.send(&Request::get("/healthz")).expect_status(200);
        let source = Source::start();
        Some(Self { server, installation, fault, tenant, source, frozen: false })
    }

    /// Stops the clocks, and begins the fault.
    fn begin(&mut self) -> Lasting {
        let request = request_for(&["given_name"]);
        let crowd = match self.fault {
            Fault::QueueFull => {
                (0..fault::CROWD).map(|_| self.tenant.create(&request).id).collect()
            }
            _ => Vec::new(),
        };
        let now_ms = self.now_ms();
        let turns = (self.fault == Fault::NoPermit).then(|| {
            Turns::prepare(&mut self.tenant, self.server.address, samples::ISSUER, now_ms)
        });
        self.freeze();
        Lasting::begin(&mut Patient {
            fault: self.fault,
            installation: &self.installation,
            server: &self.server,
            turns,
            crowd,
            tenant: &mut self.tenant,
            request: &request,
        })
    }

    /// Stops the clocks if they run.
    fn freeze(&mut self) {
        if !std::mem::replace(&mut self.frozen, true) {
            self.installation.machine().freeze();
        }
    }

    /// Ends the fault; time passes again.
    fn end(&mut self, lasting: Lasting) {
        lasting.end();
        self.thaw();
    }

    fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) {
            self.installation.machine().thaw();
        }
    }

    /// The time by the gateway's clock.
    fn now_ms(&self) -> u64 {
        self.installation.machine().now_ms()
    }

    fn post(&mut self, open: &Open) -> Response {
        self.tenant.http.send(&answer_request(&open.created.id, &open.body))
    }

    /// Posts an answer that waits for a turn, and lets that time pass.
    fn post_without_a_turn(&mut self, open: &Open) -> Response {
        let Self { server, installation, tenant, .. } = self;
        let mut reader = Tenant::at(server, &tenant.api_key);
        thread::scope(|scope| {
            let answering =
                scope.spawn(|| tenant.http.send(&answer_request(&open.created.id, &open.body)));
            let id = &open.created.id;
            eventually("it is held", || reader.read(id)["status"] == "VERIFYING");
            server.rest();
            installation.machine().jump(FOR_A_TURN);
            answering.join().unwrap()
        })
    }

    /// An answer whose credential is in a list of the source, or in none.
    fn open(&mut self, listed: bool) -> Open {
        let uri = listed.then(|| self.source.next_uri());
        let now_ms = self.now_ms();
        open_for(&mut self.tenant, samples::ISSUER, uri.as_deref(), now_ms)
    }

    fn status(&mut self, id: &str) -> String {
        self.tenant.read(id)["status"].as_str().unwrap_or_default().to_owned()
    }

    /// The session is open, and the same answer is accepted now.
    fn answer_again(&mut self, open: &Open) {
        let id = open.created.id.clone();
        eventually("the session is open again", || self.status(&id) == "PENDING");
        // Work that had to wait in the meantime may still be in the way.
        eventually("the same answer is taken", || {
            let reply = self.tenant.http.send(&answer_request(&id, &open.body));
            assert!([200, 503].contains(&reply.status), "{reply:?}");
            reply.status == 200
        });
        assert_eq!(self.status(&id), "VERIFIED");
    }
}

#[track_caller]
fn cell(fault: Fault, phase: Phase, told: Told) {
    let Some(mut ward) = Ward::start(fault) else {
        eprintln!("skipped: {fault:?} cannot be had on this machine");
        return;
    };
    match phase {
        Phase::Create => at_create(&mut ward, told),
        Phase::RequestObject => at_request_object(&mut ward, told),
        Phase::Answer | Phase::Hold => at_answer(&mut ward, phase == Phase::Hold, told),
        Phase::Settle => at_settle(&mut ward, told),
    }
}

fn at_create(ward: &mut Ward, told: Told) {
    let lasting = ward.begin();
    let answer = ward.tenant.post_session(&request_for(&["given_name"]));
    is_refused(answer, 201, told);
    ward.end(lasting);
    let request = request_for(&["given_name"]);
    eventually("sessions are made again", || ward.tenant.post_session(&request).status == 201);
}

fn at_request_object(ward: &mut Ward, told: Told) {
    let created = ward.tenant.create(&request_for(&["given_name"]));
    let lasting = ward.begin();
    let answer = ward.tenant.http.send(&request_object(&created));
    let status = if is_refused(answer, 200, told) { "CREATED" } else { "PENDING" };
    assert_eq!(ward.status(&created.id), status);
    ward.end(lasting);
    let fetched = || ward.tenant.http.send(&request_object(&created)).status == 200;
    eventually("the request can be fetched again", fetched);
    let now_ms = ward.now_ms();
    let body = answer_to(&mut ward.tenant, &created, None, now_ms);
    ward.answer_again(&Open { created, body });
}

fn at_answer(ward: &mut Ward, listed: bool, told: Told) {
    let open = ward.open(listed);
    let lasting = ward.begin();
    let needs_a_turn = ward.fault == Fault::NoPermit && listed;
    let answer = if needs_a_turn { ward.post_without_a_turn(&open) } else { ward.post(&open) };
    let refused = is_refused(answer, 200, told);
    ward.end(lasting);
    conclude(ward, &open, refused);
}

fn at_settle(ward: &mut Ward, told: Told) {
    let open = ward.open(true);
    ward.source.keep_silent(true);
    ward.freeze();
    let (address, request) = (ward.server.address, answer_request(&open.created.id, &open.body));
    let before = ward.source.asked();
    let answering = thread::spawn(move || Http::new(address).send(&request));
    ward.source.wait_until_asked(before + 1);
    assert_eq!(ward.status(&open.created.id), "VERIFYING");
    let lasting = ward.begin();
    ward.source.keep_silent(false);
    ward.source.wait_until_answered(before + 1);
    ward.server.rest();
    let unstorable =
        [Fault::NoRandomness, Fault::DiskFull, Fault::QueueFull, Fault::DatabaseLocked];
    if unstorable.contains(&ward.fault) {
        // The gateway has the source's answer. It tries to store the verdict for some time.
        ward.thaw();
    }
    let refused = is_refused(answering.join().unwrap(), 200, told);
    ward.end(lasting);
    conclude(ward, &open, refused);
}

fn conclude(ward: &mut Ward, open: &Open, refused: bool) {
    if refused {
        ward.answer_again(open);
    } else {
        assert_eq!(ward.status(&open.created.id), "VERIFIED");
    }
}

/// Whether the caller got a 503, and whether that is as expected.
#[track_caller]
fn is_refused(answer: Response, done: u16, told: Told) -> bool {
    let refused = match told {
        Told::ComeBack => true,
        Told::Done => false,
        Told::Either => answer.status != done,
    };
    if refused {
        let seconds = answer.header("retry-after").and_then(|text| text.parse::<u32>().ok());
        assert!(seconds.is_some_and(|seconds| seconds > 0), "{answer:?}");
        answer.expect_error(503, "temporarily_unavailable");
    } else {
        answer.expect_status(done);
    }
    refused
}

fn request_object(created: &Created) -> Request {
    Request::get(format!("/v1/oid4vp/request/{}", created.id))
}

fn open_for(tenant: &mut Tenant, issuer: &str, uri: Option<&str>, now_ms: u64) -> Open {
    let mut asked = credential("pid", &["given_name"]);
    asked["issuer_id"] = issuer.into();
    let created = tenant.create(&json!({ "credentials": [asked] }));
    let body = answer_to(tenant, &created, uri, now_ms);
    Open { created, body }
}

fn answer_to(tenant: &mut Tenant, created: &Created, uri: Option<&str>, now_ms: u64) -> Body {
    let jwt = tenant.http.send(&request_object(created)).expect_status(200);
    let document: Value = tenant.http.send(&Request::get("/.well-known/did.json")).json();
    let link = JarLink::parse(&created.uri).unwrap();
    let jwt = String::from_utf8(jwt.body).unwrap();
    let request = JarRequest::verify(&link, &jwt, &document, now_ms).unwrap();
    let wallet = wallet(uri, now_ms);
    wallet.answer_jar(&request, Transcript::OpenId4Vp, false, now_ms).unwrap().form_body()
}

fn wallet(uri: Option<&str>, now_ms: u64) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms);
    let credential = match uri {
        Some(uri) => credential.plain("status", status_claim(0, uri)),
        None => credential,
    };
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}
