//! Traces, read by a collector: the spans of a session, that they form one tree, and that they
//! contain no personal data (decisions 29).

mod collector;
mod failures;
mod lists;
mod parents;

use std::collections::BTreeSet;

use idgate_testkit::keys::Curve;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::wallet::{Transcript, Wallet};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use self::collector::{Collector, attributes, tree};
use self::lists::Lists;
use crate::http::Request;
use crate::server::Installation;
use crate::stores;
use crate::tenant::{Created, Gateway, Tenant, form, now_ms, request_for, sample_wallet};
use crate::webhooks::receiver::Receiver;

/// An installation whose spans go to `collector`, and whose webhooks may go to loopback.
fn traced(collector: &Collector) -> Installation {
    permissive().with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
}

fn permissive() -> Installation {
    Installation::new()
        .with("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
        .with("IDGATE_WEBHOOK_ALLOW_HTTP", "true")
}

/// Sends notifications about the client's sessions to `receiver`.
fn notify(gateway: &Gateway, tenant: &mut Tenant, receiver: &Receiver) {
    gateway.installation.run_json(&["webhook-host", "approve", "127.0.0.1", "--json"]);
    let put = Request::new("PUT", "/v1/webhook-endpoint").bearer(&tenant.api_key);
    let put = put.json(&json!({ "url": receiver.url("/hook-of-s3cret-path") }));
    tenant.http.send(&put).expect_status(200);
}

/// The spans of the only session: those in its trace.
fn of_session(spans: &[Span]) -> Vec<Span> {
    let made = spans.iter().find(|span| span.name == "POST /v1/sessions").unwrap();
    spans.iter().filter(|span| span.trace_id == made.trace_id).cloned().collect()
}

fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let mut found = spans.iter().filter(|span| span.name == name);
    let span = found.next().unwrap_or_else(|| panic!("no {name}:\n{}", tree(spans)));
    assert!(found.next().is_none(), "{name} twice:\n{}", tree(spans));
    span
}

/// The answer's span may end after that of the notification.
fn is_told(spans: &[Span]) -> bool {
    let names = ["POST /v1/sessions", "POST /v1/oid4vp/response/{id}", "POST webhook"];
    names.iter().all(|name| spans.iter().any(|span| span.name == *name))
}

const SESSION: &str = "\
POST /v1/sessions
  authenticate
  commit
  GET /v1/oid4vp/request/{id}
    commit
  POST /v1/oid4vp/response/{id}
    verify
      commit
      fetch status
    commit
  POST webhook
    commit
";

#[test]
fn a_sessions_spans_form_one_tree_without_personal_data() {
    let (collector, receiver, lists) = (Collector::start(), Receiver::start(), Lists::start());
    let installation = traced(&collector)
        .with("OID4VP_REQUEST_MODE", "jar")
        .with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8");
    let gateway = Gateway::start_on(installation.with("OTEL_SERVICE_NAME", "gate-7"));
    let mut tenant = gateway.tenant();
    notify(&gateway, &mut tenant, &receiver);
    let created = tenant.create(&request_for(&["given_name", "family_name"]));
    let wallet = holder(&lists.uri);
    let link = JarLink::parse(&created.uri).unwrap();
    let get = Request::get(format!("/v1/oid4vp/request/{}", created.id));
    let jwt = String::from_utf8(tenant.http.send(&get).expect_status(200).body).unwrap();
    let did = tenant.http.send(&Request::get("/.well-known/did.json")).expect_status(200).json();
    let request = JarRequest::verify(&link, &jwt, &did, now_ms()).unwrap();
    let answer = wallet.answer_jar(&request, Transcript::OpenId4Vp, false, now_ms()).unwrap();
    tenant.post_answer(&created.id, &answer.form_body()).expect_status(200);
    receiver.wait_for(1);
    assert_eq!(tenant.read(&created.id)["claims"]["pid"]["given_name"], "Sentinel-given-Q7");
    let spans = of_session(&collector.wait_for("the webhook is traced", is_told));
    assert_eq!(tree(&spans), SESSION);
    assert_eq!(shown(), SESSION, "docs/tracing.md shows another tree");
    // The attributes of each span.
    let mut create = attributes(named(&spans, "POST /v1/sessions"));
    // PostgreSQL reads and writes rows in its own processes.
    let (read, write): (&[&str], &[&str]) = match stores::is_postgres() {
        true => (&[], &[]),
        false => (&["read"], &["write"]),
    };
    for stage in [&["request", "authenticate", "make", "seal", "answer"], read, write].concat() {
        let cpu = create.remove(&format!("idgate.cpu.{stage}"));
        assert!(cpu.is_some_and(|ns| (1..1_000_000_000).contains(&ns.parse::<u64>().unwrap())));
    }
    for (name, own) in
        [("GET /v1/oid4vp/request/{id}", "sign"), ("POST /v1/oid4vp/response/{id}", "verify")]
    {
        let all = attributes(named(&spans, name));
        for stage in [&[own, "seal", "trace"], write].concat() {
            assert!(all.contains_key(&format!("idgate.cpu.{stage}")), "{name}: {stage}");
        }
        // The session is in memory.
        assert!(!all.contains_key("idgate.cpu.read"), "{name}");
    }
    let expected = [
        ("http.request.method", "POST"),
        ("http.response.status_code", "201"),
        ("http.route", "/v1/sessions"),
        ("idgate.livemode", "false"),
    ];
    assert_eq!(create, expected.map(|(key, value)| (key.into(), value.into())).into());
    let verify = attributes(named(&spans, "verify"));
    assert_eq!(verify["idgate.outcome"], "verified");
    assert_eq!(verify["idgate.format"], "vc+sd-jwt");
    let fetched = named(&spans, "fetch status");
    let expected = [("idgate.sources", "1"), ("server.address", "127.0.0.1")];
    assert_eq!(attributes(fetched), expected.map(|(key, value)| (key.into(), value.into())).into());
    // The host of the list must not learn which answers belong together.
    let [asked] = lists.asked().try_into().unwrap();
    assert!(!asked.to_ascii_lowercase().contains("trace"), "{asked}");
    let told = named(&spans, "POST webhook");
    assert_eq!(attributes(told)["http.response.status_code"], "200");
    assert_eq!(attributes(told)["server.address"], "127.0.0.1");
    assert_eq!((told.kind, told.status.is_none()), (3, true));
    assert!(spans.iter().all(|span| span.start_time_unix_nano <= span.end_time_unix_nano));
    let ids: BTreeSet<_> = spans.iter().map(|span| &span.span_id).collect();
    assert_eq!(ids.len(), spans.len());
    assert_eq!(collector.resource()["service.name"], "gate-7");
    // The receiver can continue the trace.
    let sent = receiver.all().remove(0);
    let [trace, parent] = [&told.trace_id, &told.span_id].map(|id| hex(id));
    assert_eq!(sent.header("traceparent"), format!("00-{trace}-{parent}-01"));
    // No personal data is in it.
    let mut secrets = vec![
        "Sentinel".to_owned(),
        "given_name".into(),
        "s3cret".into(),
        created.id["ses_".len()..].to_owned(),
        gateway.client.client_id.clone(),
        gateway.client.api_key[8..].into(),
        gateway.client.signing_secret[6..].into(),
        "127.0.0.1:".into(),
    ];
    secrets.extend(jwt.split('.').map(str::to_owned));
    for claim in ["nonce", "state"] {
        secrets.extend(request.claims[claim].as_str().map(str::to_owned));
    }
    secrets.push(samples::VCT.into());
    let Gateway { server, .. } = gateway;
    server.stop();
    for (_, body) in collector.requests() {
        for secret in &secrets {
            assert!(secret.len() >= 6, "too short to search for");
            let is_there = body.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{secret} is sent");
        }
    }
}

/// The names of the spans in the tree that operators see.
fn shown() -> String {
    let manual = include_str!("../../../docs/tracing.md");
    let (_, shown) = manual.split_once("A session in a collector").unwrap();
    let (_, shown) = shown.split_once("```text\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    shown
        .lines()
        .map(|line| line.split(" at ").next().unwrap().trim_end().to_owned() + "\n")
        .collect()
}

/// A wallet with a credential whose status is in the list at `uri`.
fn holder(uri: &str) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms())
        .sd("given_name", "Sentinel-given-Q7")
        .sd("family_name", "Sentinel-family-W2")
        .plain("status", status_claim(0, uri));
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn without_a_collector_no_span_is_sent_or_recorded() {
    let (collector, receiver) = (Collector::start(), Receiver::start());
    let off = permissive();
    let disabled = traced(&collector).with("OTEL_SDK_DISABLED", "true");
    for installation in [off, disabled.with("IDGATE_LOG_FORMAT", "json")] {
        let gateway = Gateway::start_on(installation);
        let mut tenant = gateway.tenant();
        notify(&gateway, &mut tenant, &receiver);
        let told = receiver.all().len();
        tenant.verified(&request_for(&["given_name"]), &sample_wallet());
        receiver.wait_for(told + 1);
        let Gateway { server, installation, .. } = gateway;
        server.stop();
        assert!(!installation.log().contains("trace_id"), "{}", installation.log());
    }
    for sent in receiver.all() {
        assert!(sent.headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("traceparent")));
    }
    assert_eq!(collector.connections(), 0);
}

#[test]
fn a_span_of_a_rejection_has_its_reason_and_the_party_at_fault() {
    let collector = Collector::start();
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    let refused = tenant.create(&request_for(&["given_name"]));
    let stale = sample_wallet().answer_uri(&refused.uri, now_ms() - 3_600_000).unwrap();
    tenant.post_answer(&refused.id, &stale.form_body()).expect_status(400);
    tenant.post_session(&json!({ "credentials": [], "s3cret": "s3cret" })).expect_status(400);
    let answered =
        |spans: &[Span]| spans.iter().filter(|span| span.name == "POST /v1/sessions").count() == 2;
    let spans = collector.wait_for("both are traced", answered);
    let verify = attributes(named(&spans, "verify"));
    assert_eq!(verify["idgate.outcome"], tenant.read(&refused.id)["reason"].as_str().unwrap());
    let answer = named(&spans, "POST /v1/oid4vp/response/{id}");
    assert_eq!(attributes(answer)["error.type"], "invalid_presentation");
    assert!(answer.status.is_none(), "the gateway did not fail");
    let create = spans.iter().rfind(|span| span.name == "POST /v1/sessions").unwrap();
    assert_eq!(attributes(create)["http.response.status_code"], "400");
    assert!(attributes(create).contains_key("error.type"));
}

#[test]
fn each_attempt_to_deliver_belongs_to_the_session() {
    let (collector, receiver) = (Collector::start(), Receiver::start());
    receiver.answer("500 Internal Server Error", "");
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    notify(&gateway, &mut tenant, &receiver);
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    receiver.wait_for(1);
    receiver.answer("200 OK", "");
    let is_tried_again =
        |spans: &[Span]| spans.iter().filter(|span| span.name == "POST webhook").count() == 2;
    let spans = of_session(&collector.wait_for("both attempts are traced", is_tried_again));
    let tried: Vec<_> = spans.iter().filter(|span| span.name == "POST webhook").collect();
    let [first, second] = tried.try_into().unwrap();
    assert_eq!(first.parent_span_id, second.parent_span_id);
    assert_eq!(attributes(first)["http.response.status_code"], "500");
    assert_eq!((first.status.as_ref().unwrap().code, second.status.is_none()), (2, true));
    assert_eq!(attributes(second)["http.request.resend_count"], "1");
    let sent = receiver.all();
    assert_ne!(sent[0].header("traceparent"), sent[1].header("traceparent"), "a span each");
}

#[test]
fn unknown_requests_are_sampled_and_health_checks_send_no_spans() {
    let collector = Collector::start();
    let gateway = Gateway::start_on(traced(&collector));
    let mut http = gateway.http();
    for n in 0..200 {
        http.send(&Request::get(format!("/v1/oid4vp/request/ses_{n}")));
        http.send(&Request::get("/healthz")).expect_status(200);
    }
    gateway.tenant().create(&request_for(&["given_name"]));
    let is_made = |spans: &[Span]| spans.iter().any(|span| span.name == "POST /v1/sessions");
    let spans = collector.wait_for("the session is traced", is_made);
    let roots: Vec<_> = spans.iter().filter(|span| span.parent_span_id.is_empty()).collect();
    assert!(roots.len() <= 60, "{}", roots.len());
    assert!(spans.iter().all(|span| !span.name.contains("ses_") && !span.name.contains("health")));
}

#[test]
fn log_lines_have_their_trace_and_span_id() {
    for format in ["text", "json"] {
        let collector = Collector::start();
        let gateway = Gateway::start_on(traced(&collector).with("IDGATE_LOG_FORMAT", format));
        let created = gateway.tenant().create(&request_for(&["given_name"]));
        assert!(!created.id.is_empty());
        let is_made = |spans: &[Span]| spans.iter().any(|span| span.name == "POST /v1/sessions");
        let spans = collector.wait_for("the session is traced", is_made);
        let made = named(&spans, "POST /v1/sessions");
        let (trace, span) = (hex(&made.trace_id), hex(&made.span_id));
        let Gateway { server, installation, .. } = gateway;
        server.stop();
        let log = installation.log();
        let line = log.lines().find(|line| line.contains("/v1/sessions")).unwrap();
        if format == "json" {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["trace_id"], &line["span_id"]), (&json!(trace), &json!(span)));
            assert_eq!(line["route"], "/v1/sessions");
        } else {
            assert!(line.ends_with(&format!("trace_id={trace} span_id={span}")), "{line}");
        }
        let bound = log.lines().find(|line| line.contains("bound to")).unwrap();
        assert!(!bound.contains("trace_id"), "{bound}");
    }
}

#[test]
fn work_of_other_nodes_belongs_to_the_sessions_trace() {
    let (collector, receiver) = (Collector::start(), Receiver::start());
    let Some(database) = stores::empty() else { return };
    let installation = Installation::on(&database)
        .with("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
        .with("IDGATE_WEBHOOK_ALLOW_HTTP", "true")
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    installation.run_json(&["migrate", "--json"]);
    let gateway = Gateway::start_on(installation);
    let other = gateway.installation.serve();
    let mut tenant = gateway.tenant();
    notify(&gateway, &mut tenant, &receiver);
    let created = tenant.create(&request_for(&["given_name"]));
    drop(tenant);
    let Gateway { server, client, installation: _installation } = gateway;
    server.stop();
    let mut tenant = Tenant::at(&other, &client.api_key);
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    receiver.wait_for(1);
    let spans = of_session(&collector.wait_for("the webhook is traced", is_told));
    let made = named(&spans, "POST /v1/sessions");
    for name in ["POST /v1/oid4vp/response/{id}", "POST webhook"] {
        assert_eq!(named(&spans, name).parent_span_id, made.span_id, "{name}");
    }
    let databases: BTreeSet<_> = spans
        .iter()
        .filter(|span| span.name == "commit")
        .map(|span| attributes(span)["db.system.name"].clone())
        .collect();
    assert_eq!(databases, ["postgresql".to_owned()].into());
}
