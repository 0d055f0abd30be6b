//! `traceparent`: which callers may set a span's parent, and what is passed on.

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn create(tenant: &mut Tenant, headers: &[&str]) -> Created {
    let mut post = Request::post("/v1/sessions").bearer(&tenant.api_key);
    for value in headers {
        post =
            post.header("traceparent", *value).header("tracestate", "s3cret=s3cret-of-its-maker");
    }
    let answer = tenant.http.send(&post.json(&request_for(&["given_name"]))).expect_status(201);
    assert!(answer.header("traceparent").is_none() && answer.header("tracestate").is_none());
    Created::of(answer.json())
}

fn good(flags: &str) -> String {
    format!("00-{TRACE}-{SPAN}-{flags}")
}

#[test]
fn a_session_belongs_to_the_trace_that_its_tenant_names() {
    let (collector, receiver) = (Collector::start(), Receiver::start());
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    notify(&gateway, &mut tenant, &receiver);
    let created = create(&mut tenant, &[&good("01")]);
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    receiver.wait_for(1);
    let spans = of_session(&collector.wait_for("the webhook is traced", is_told));
    let made = named(&spans, "POST /v1/sessions");
    assert_eq!((hex(&made.trace_id), hex(&made.parent_span_id)), (TRACE.into(), SPAN.into()));
    assert_ne!(made.flags & 0x200, 0, "its parent is elsewhere");
    let sent = receiver.all().remove(0);
    assert!(sent.header("traceparent").starts_with(&format!("00-{TRACE}-")), "{sent:?}");
    assert!(!format!("{sent:?}").contains("tracestate"), "{sent:?}");
    assert!(!format!("{sent:?}").contains("s3cret-of"), "{sent:?}");
    for (_, body) in collector.requests() {
        assert!(!String::from_utf8_lossy(&body).contains("s3cret-of"), "its tracestate is sent");
    }
}

#[test]
fn a_repeated_creation_leaves_the_session_where_it_was_made() {
    let collector = Collector::start();
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    let other = "c".repeat(32);
    let mut made = Vec::new();
    for trace in [TRACE, &other] {
        let post = Request::post("/v1/sessions").bearer(&tenant.api_key);
        let post = post.header("Idempotency-Key", "order-1");
        let post = post.header("traceparent", format!("00-{trace}-{SPAN}-01"));
        let answer = tenant.http.send(&post.json(&request_for(&["given_name"]))).expect_status(201);
        made.push(Created::of(answer.json()));
    }
    let [first, again] = made.try_into().unwrap();
    assert_eq!(first.id, again.id);
    tenant.post_answer(&again.id, &form(&sample_wallet(), &again)).expect_status(200);
    let is_answered =
        |spans: &[Span]| spans.iter().any(|span| span.name == "POST /v1/oid4vp/response/{id}");
    let spans = collector.wait_for("the answer is traced", is_answered);
    let answered = named(&spans, "POST /v1/oid4vp/response/{id}");
    assert_eq!(hex(&answered.trace_id), TRACE);
    let created = spans.iter().filter(|span| span.name == "POST /v1/sessions");
    let traces: BTreeSet<_> = created.map(|span| hex(&span.trace_id)).collect();
    assert_eq!(traces, [TRACE.to_owned(), other].into(), "the repetition is in that of its own");
}

#[test]
fn an_invalid_traceparent_starts_a_new_trace() {
    let collector = Collector::start();
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    let valid = good("01");
    let upper = format!("00-{}-{SPAN}-01", TRACE.to_uppercase());
    let no_trace = format!("00-{}-{SPAN}-01", "0".repeat(32));
    let no_span = format!("00-{TRACE}-{}-01", "0".repeat(16));
    let longer = format!("{valid}-00");
    let future = format!("ff-{TRACE}-{SPAN}-01");
    let ids = "x".repeat(55);
    let hostile: [&[&str]; 9] = [
        &[&upper],
        &[&no_trace],
        &[&no_span],
        &[&longer],
        &[&future],
        &[&ids],
        &["00"],
        &[""],
        &[&valid, &valid],
    ];
    for headers in hostile {
        create(&mut tenant, headers);
    }
    let later = format!("01-{TRACE}-{SPAN}-01-more");
    create(&mut tenant, &[&later]);
    let all = |spans: &[Span]| {
        spans.iter().filter(|span| span.name == "POST /v1/sessions").count() == hostile.len() + 1
    };
    let spans = collector.wait_for("all are traced", all);
    let made: Vec<_> = spans.iter().filter(|span| span.name == "POST /v1/sessions").collect();
    let (last, hostile) = made.split_last().unwrap();
    assert_eq!(hex(&last.trace_id), TRACE, "a later version says more");
    for span in hostile {
        assert_ne!(hex(&span.trace_id), TRACE);
        assert!(span.parent_span_id.is_empty());
    }
}

#[test]
fn only_requests_with_a_key_join_a_callers_trace() {
    let collector = Collector::start();
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let answer = crate::tenant::answer_request(&created.id, &form(&sample_wallet(), &created));
    let answer = answer.header("traceparent", good("01"));
    let response = tenant.http.send(&answer).expect_status(200);
    assert!(response.header("traceparent").is_none());
    let bad =
        Request::post("/v1/sessions").bearer("sk_test_none").header("traceparent", good("01"));
    tenant.http.send(&bad.json(&json!({}))).expect_status(401);
    let is_over = |spans: &[Span]| {
        spans
            .iter()
            .any(|span| attributes(span).get("http.response.status_code") == Some(&"401".into()))
    };
    let spans = collector.wait_for("both are traced", is_over);
    assert!(spans.iter().all(|span| hex(&span.trace_id) != TRACE));
    let answered = named(&spans, "POST /v1/oid4vp/response/{id}");
    let made = spans.iter().find(|span| span.name == "POST /v1/sessions").unwrap();
    assert_eq!(answered.parent_span_id, made.span_id);
}

#[test]
fn an_unsampled_parent_applies_to_the_whole_session() {
    let (collector, receiver) = (Collector::start(), Receiver::start());
    let gateway = Gateway::start_on(traced(&collector));
    let mut tenant = gateway.tenant();
    notify(&gateway, &mut tenant, &receiver);
    let created = create(&mut tenant, &[&good("00")]);
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    receiver.wait_for(1);
    let sent = receiver.all().remove(0);
    let header = sent.header("traceparent");
    assert!(header.starts_with(&format!("00-{TRACE}-")) && header.ends_with("-00"), "{header}");
    let Gateway { server, .. } = gateway;
    server.stop();
    assert!(collector.spans().iter().all(|span| hex(&span.trace_id) != TRACE));
}

#[test]
fn sampler_always_off_ignores_the_callers_sampled_flag() {
    let collector = Collector::start();
    let installation = traced(&collector).with("OTEL_TRACES_SAMPLER", "always_off");
    let gateway = Gateway::start_on(installation);
    let created = create(&mut gateway.tenant(), &[&good("01")]);
    assert!(!created.id.is_empty());
    let Gateway { server, installation, .. } = gateway;
    server.stop();
    assert_eq!(collector.connections(), 0);
    assert!(!installation.log().contains("trace_id"));
}
