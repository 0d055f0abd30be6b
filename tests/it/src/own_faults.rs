//! Faults of the gateway's own are never booked on a wallet: whatever the machine lacks, in whichever
//! phase, the answer is 503 with Retry-After, the session stays or becomes as open as it was, and the
//! same answer posted later is VERIFIED.

mod fault;
mod hosts;
mod source;
mod turns;

use std::thread;
use std::time::{Duration, Instant};

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
use crate::tenant::{
    Created, Tenant, answer_request, credential, now_ms, request_for, sample_trust,
};

/// When a fault strikes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// A tenant makes a session.
    Create,
    /// The wallet fetches its request.
    RequestObject,
    /// The wallet answers, and nothing has to be fetched.
    Answer,
    /// The wallet answers, and its status has to be asked for.
    Hold,
    /// The fault begins while the status source is being asked.
    Settle,
}

/// What a fault does to a phase.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    /// 503: it cannot be done.
    ComeBack,
    /// It takes nothing that is missing.
    Done,
    /// One or the other: a full disk has room left inside its files, or has none.
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

/// An issuer that is trusted besides the one of the samples, with the same key.
const OTHER_ISSUER: &str = "other";
/// So long a source may keep silent and is still heard, of the 5 s that it has.
const HEARD: Duration = Duration::from_secs(4);

/// A gateway on a machine that is about to have a fault.
struct Ward {
    // Dropped before the directory that it works in.
    server: Server,
    installation: Installation,
    fault: Fault,
    tenant: Tenant,
    source: Source,
    /// What takes all turns, where that is the fault and it was prepared.
    turns: Option<Turns>,
    /// Sessions whose wallets are to be a crowd, likewise.
    crowd: Vec<String>,
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
            .with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8,::1");
        let installation = fault::prepare(fault, installation)?;
        let client = installation.create_client("shop", true);
        installation.trust(&sample_trust(), &[]);
        let other = Trust { issuer_id: OTHER_ISSUER.into(), ..sample_trust() };
        installation.trust(&other, &[]);
        let server = fault::serve(fault, &installation);
        let mut tenant = Tenant { http: Http::new(server.address), api_key: client.api_key };
        // Connected before there is a fault: without descriptors nobody else would be.
        tenant.http.send(&Request::get("/healthz")).expect_status(200);
        let source = Source::start();
        Some(Self { server, installation, fault, tenant, source, turns: None, crowd: Vec::new() })
    }

    /// Does what can be done of the fault before it begins, unless that is done.
    fn prepare(&mut self) {
        if self.fault == Fault::NoPermit && self.turns.is_none() {
            let (tenant, address) = (&mut self.tenant, self.server.address);
            self.turns = Some(Turns::prepare(tenant, address, samples::ISSUER));
        }
        if self.fault == Fault::QueueFull && self.crowd.is_empty() {
            let request = request_for(&["given_name"]);
            self.crowd = (0..fault::CROWD).map(|_| self.tenant.create(&request).id).collect();
        }
    }

    fn begin(&mut self) -> Lasting {
        self.prepare();
        Lasting::begin(&mut Patient {
            fault: self.fault,
            installation: &self.installation,
            server: &self.server,
            turns: self.turns.take(),
            crowd: std::mem::take(&mut self.crowd),
            tenant: &mut self.tenant,
            request: &request_for(&["given_name"]),
        })
    }

    /// A machine that is busy otherwise may take longer than the 5 s of a source until the fault is
    /// there, or is seen. That shows nothing, so it is done again.
    fn until_in_time(&mut self, mut shows: impl FnMut(&mut Self) -> bool) {
        for _ in 0..5 {
            if shows(self) {
                return;
            }
            let request = request_for(&["given_name"]);
            eventually("the fault is over", || self.tenant.post_session(&request).status == 201);
        }
        panic!("this machine is too slow to show anything");
    }

    /// An answer whose credential is in a list of the source, or in none.
    fn open(&mut self, listed: bool) -> Open {
        let uri = listed.then(|| self.source.next_uri());
        open(&mut self.tenant, uri.as_deref())
    }

    fn status(&mut self, id: &str) -> String {
        self.tenant.read(id)["status"].as_str().unwrap_or_default().to_owned()
    }

    /// The session is open, and the same answer is taken now.
    fn answer_again(&mut self, open: &Open) {
        let id = open.created.id.clone();
        eventually("the session is open again", || self.status(&id) == "PENDING");
        // What had to wait in the meantime may still be in the way.
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
    lasting.end();
    let request = request_for(&["given_name"]);
    eventually("sessions are made again", || ward.tenant.post_session(&request).status == 201);
}

fn at_request_object(ward: &mut Ward, told: Told) {
    let created = ward.tenant.create(&request_for(&["given_name"]));
    let lasting = ward.begin();
    let answer = ward.tenant.http.send(&request_object(&created));
    let status = if is_refused(answer, 200, told) { "CREATED" } else { "PENDING" };
    assert_eq!(ward.status(&created.id), status);
    lasting.end();
    let fetched = || ward.tenant.http.send(&request_object(&created)).status == 200;
    eventually("the request can be fetched again", fetched);
    let body = answer_to(&mut ward.tenant, &created, None);
    ward.answer_again(&Open { created, body });
}

fn at_answer(ward: &mut Ward, listed: bool, told: Told) {
    ward.until_in_time(|ward| {
        ward.prepare();
        let open = ward.open(listed);
        let (begun, lasting) = (Instant::now(), ward.begin());
        let answer = ward.tenant.http.send(&answer_request(&open.created.id, &open.body));
        // Turns are given back when their sources have had their time.
        let is_over =
            ward.fault == Fault::NoPermit && answer.status == 200 && begun.elapsed() > HEARD;
        let in_time = told != Told::ComeBack || !is_over;
        let refused = in_time && is_refused(answer, 200, told);
        lasting.end();
        conclude(ward, &open, refused);
        in_time
    });
}

fn at_settle(ward: &mut Ward, told: Told) {
    ward.until_in_time(|ward| settles(ward, told));
}

/// `false`: the source was not heard in time.
fn settles(ward: &mut Ward, told: Told) -> bool {
    ward.prepare();
    let open = ward.open(true);
    ward.source.keep_silent(true);
    let (address, request) = (ward.server.address, answer_request(&open.created.id, &open.body));
    let (before, posted) = (ward.source.asked(), Instant::now());
    let answering = thread::spawn(move || Http::new(address).send(&request));
    ward.source.wait_until_asked(before + 1);
    assert_eq!(ward.status(&open.created.id), "VERIFYING");
    let lasting = ward.begin();
    ward.source.keep_silent(false);
    // Where nothing can be stored, no word of the source matters.
    let heard = told == Told::ComeBack || posted.elapsed() < HEARD;
    let answer = answering.join().unwrap();
    if heard {
        let refused = is_refused(answer, 200, told);
        lasting.end();
        conclude(ward, &open, refused);
    } else {
        lasting.end();
    }
    heard
}

fn conclude(ward: &mut Ward, open: &Open, refused: bool) {
    if refused {
        ward.answer_again(open);
    } else {
        assert_eq!(ward.status(&open.created.id), "VERIFIED");
    }
}

/// Whether the caller was told to come again, as it should have been or not.
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

fn open(tenant: &mut Tenant, uri: Option<&str>) -> Open {
    open_for(tenant, samples::ISSUER, uri)
}

fn open_for(tenant: &mut Tenant, issuer: &str, uri: Option<&str>) -> Open {
    let mut asked = credential("pid", &["given_name"]);
    asked["issuer_id"] = issuer.into();
    let created = tenant.create(&json!({ "credentials": [asked] }));
    let body = answer_to(tenant, &created, uri);
    Open { created, body }
}

fn answer_to(tenant: &mut Tenant, created: &Created, uri: Option<&str>) -> Body {
    let jwt = tenant.http.send(&request_object(created)).expect_status(200);
    let document: Value = tenant.http.send(&Request::get("/.well-known/did.json")).json();
    let link = JarLink::parse(&created.uri).unwrap();
    let jwt = String::from_utf8(jwt.body).unwrap();
    let request = JarRequest::verify(&link, &jwt, &document, now_ms()).unwrap();
    wallet(uri).answer_jar(&request, Transcript::OpenId4Vp, false, now_ms()).unwrap().form_body()
}

fn wallet(uri: Option<&str>) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms());
    let credential = match uri {
        Some(uri) => credential.plain("status", status_claim(0, uri)),
        None => credential,
    };
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}
