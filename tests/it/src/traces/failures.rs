//! Whatever a collector does, sessions are created and the gateway stops in time. Lost spans are
//! counted.

use std::time::Duration;

use super::*;
use crate::server::{Server, eventually, free_address};

/// More than a shutdown takes, and less than the wait for a collector.
const PROMPT: Duration = Duration::from_secs(6);

/// The metrics about spans, by the end of the name and the label.
fn counted(installation: &Installation, server: &Server) -> impl Fn(&str) -> u64 {
    let made = installation.run_json(&["admin-token", "create", "--json"]);
    let token = made["admin_token"].as_str().unwrap().to_owned();
    let address = server.address;
    move |what| {
        let get = Request::get("/metrics").bearer(&token);
        let text = crate::http::Http::new(address).send(&get).expect_status(200).body;
        let text = String::from_utf8(text).unwrap();
        let name = format!("idgate_spans_{what} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name));
        value.unwrap_or_else(|| panic!("no {name}: {text}")).parse().unwrap()
    }
}

#[test]
fn a_silent_collector_delays_neither_requests_nor_shutdown() {
    let gone = free_address();
    let silent = Collector::start();
    silent.answer("", "");
    for url in [format!("http://{gone}"), silent.url()] {
        let installation = permissive().with("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
        let gateway = Gateway::start_on(installation.with_machine());
        let mut tenant = gateway.tenant();
        // A batch is on its way, and its answer never comes.
        tenant.create(&request_for(&["given_name"]));
        eventually("it is sent", || url != silent.url() || !silent.requests().is_empty());
        let Gateway { server, installation, .. } = gateway;
        let machine = installation.machine();
        machine.freeze();
        for _ in 0..100 {
            tenant.create(&request_for(&["given_name"]));
        }
        server.terminate();
        assert_eq!(server.ends_within(machine, PROMPT).code(), Some(0), "{url}");
        let log = installation.log();
        let lines = log.matches("spans did not reach the collector").count();
        assert!((1..=2).contains(&lines), "{url}: {log}");
    }
}

#[test]
fn a_batch_on_its_way_is_not_repeated_when_the_gateway_stops() {
    let collector = Collector::start();
    collector.answer("", "");
    let gateway = Gateway::start_on(traced(&collector).with_machine());
    let mut tenant = gateway.tenant();
    tenant.create(&request_for(&["given_name"]));
    eventually("it is sent", || !collector.requests().is_empty());
    let Gateway { server, installation, .. } = gateway;
    let machine = installation.machine();
    machine.freeze();
    drop(tenant);
    server.terminate();
    eventually("it stops", || installation.log().contains("stopping"));
    eventually("it accepts no connections", || {
        let listens = server.listens();
        if listens {
            server.idle();
            machine.jump(Duration::from_millis(100));
        }
        !listens
    });
    server.idle();
    collector.answer("200 OK", "");
    eventually("it is answered", || collector.answered() > 0);
    assert_eq!(server.ends_within(machine, PROMPT).code(), Some(0));
    let spans = collector.spans();
    named(&spans, "POST /v1/sessions");
    let ids: BTreeSet<_> = spans.iter().map(|span| &span.span_id).collect();
    assert_eq!(ids.len(), spans.len(), "{}", tree(&spans));
    assert!(!installation.log().contains("spans did not reach the collector"));
}

#[test]
fn rejected_spans_are_lost_and_logged_once_and_later_ones_arrive() {
    let collector = Collector::start();
    collector.answer("400 Bad Request", "");
    let gateway = Gateway::start_on(traced(&collector));
    let counted = counted(&gateway.installation, &gateway.server);
    let mut tenant = gateway.tenant();
    for round in 1..=3 {
        tenant.create(&request_for(&["given_name"]));
        eventually("it is refused", || collector.requests().len() >= round);
        eventually("it is counted", || counted("dropped_total{reason=\"refused\"}") >= 3);
    }
    assert_eq!(counted("exported_total"), 0);
    // The collector accepts the batch but rejects two of its spans.
    collector.answer_with("200 OK", "", b"\x0a\x02\x08\x02");
    let before = counted("dropped_total{reason=\"refused\"}");
    tenant.create(&request_for(&["given_name"]));
    eventually("it is taken", || counted("exported_total") > 0);
    assert_eq!(counted("dropped_total{reason=\"refused\"}"), before + 2);
    assert_eq!(counted("dropped_total{reason=\"queue\"}"), 0);
    let log = gateway.installation.log();
    assert_eq!(log.matches("spans did not reach the collector").count(), 1, "{log}");
    assert_eq!(collector.connections(), 1, "the connection stays open");
}

#[test]
fn retry_after_of_a_collector_is_respected() {
    let collector = Collector::start();
    collector.answer("503 Service Unavailable", "Retry-After: 2\r\n");
    let gateway = Gateway::start_on(traced(&collector).with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    gateway.tenant().create(&request_for(&["given_name"]));
    let pass = |time| gateway.server.pass(machine, Duration::from_millis(time));
    eventually("it is asked", || {
        pass(100);
        !collector.requests().is_empty()
    });
    collector.answer("200 OK", "");
    pass(1800);
    assert_eq!(collector.requests().len(), 1, "it is asked again too soon");
    pass(300);
    eventually("it is asked again", || collector.requests().len() > 1);
    let bodies: Vec<_> = collector.requests().into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies[0], bodies[1], "the same spans");
}

#[test]
fn collector_headers_are_sent_and_never_printed() {
    let collector = Collector::start();
    let headers = "authorization=Bearer%20s3cret-of-it";
    let installation = Installation::new()
        .with("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/in", collector.url()))
        .with("OTEL_EXPORTER_OTLP_HEADERS", headers);
    let shown = installation.run(&["config", "check"]);
    assert!(shown.stdout.contains("OTEL_EXPORTER_OTLP_HEADERS = ***"), "{shown:?}");
    assert!(!format!("{shown:?}").contains("s3cret"));
    let gateway = Gateway::start_on(installation.with("IDGATE_LOG", "trace"));
    gateway.tenant().create(&request_for(&["given_name"]));
    eventually("it is sent", || !collector.requests().is_empty());
    let (head, _) = collector.requests().remove(0);
    assert!(head.starts_with("POST /in HTTP/1.1\r\n"), "{head}");
    for line in
        ["authorization: Bearer s3cret-of-it\r\n", "content-type: application/x-protobuf\r\n"]
    {
        assert!(head.contains(line), "{head}");
    }
    let Gateway { server, installation, .. } = gateway;
    server.stop();
    assert!(!installation.log().contains("s3cret"));
}
