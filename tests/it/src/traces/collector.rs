//! A collector of traces on loopback. It parses requests with the messages that OpenTelemetry
//! generates from its own definitions.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::server::eventually;

/// A collector that stores everything it receives. It serves until the test process ends.
pub(super) struct Collector {
    address: SocketAddr,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

#[derive(Default)]
struct Seen {
    answer: String,
    /// How many requests were answered.
    answered: usize,
    connections: usize,
    /// Head and body of each request.
    requests: Vec<(String, Vec<u8>)>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<(Mutex<Seen>, Condvar)>::default();
        let shared = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = shared.clone();
                seen.0.lock().unwrap().connections += 1;
                thread::spawn(move || serve(stream, &seen));
            }
        });
        let collector = Self { address, seen };
        collector.answer("200 OK", "");
        collector
    }

    /// Its base URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers like this from now on. Empty: it does not answer until this is called again.
    pub(super) fn answer(&self, status: &str, headers: &str) {
        self.answer_with(status, headers, &[]);
    }

    pub(super) fn answer_with(&self, status: &str, headers: &str, body: &[u8]) {
        let text = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        // Protobuf of such a small message is also text.
        let text = text + std::str::from_utf8(body).unwrap();
        self.seen.0.lock().unwrap().answer = if status.is_empty() { String::new() } else { text };
        self.seen.1.notify_all();
    }

    pub(super) fn answered(&self) -> usize {
        self.seen.0.lock().unwrap().answered
    }

    pub(super) fn connections(&self) -> usize {
        self.seen.0.lock().unwrap().connections
    }

    pub(super) fn requests(&self) -> Vec<(String, Vec<u8>)> {
        self.seen.0.lock().unwrap().requests.clone()
    }

    /// The attributes of the gateway itself.
    pub(super) fn resource(&self) -> BTreeMap<String, String> {
        let message = self.messages().remove(0);
        let resource = message.resource_spans[0].resource.as_ref().unwrap();
        texts(&resource.attributes)
    }

    /// All spans so far, by start time.
    pub(super) fn spans(&self) -> Vec<Span> {
        let groups = self.messages().into_iter().flat_map(|message| message.resource_spans);
        let scopes = groups.flat_map(|group| group.scope_spans);
        let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// The spans once `is_all` holds for them.
    #[track_caller]
    pub(super) fn wait_for(&self, what: &str, is_all: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        eventually(what, || is_all(&self.spans()));
        self.spans()
    }

    fn messages(&self) -> Vec<ExportTraceServiceRequest> {
        let requests = self.requests();
        requests
            .iter()
            .map(|(_, body)| ExportTraceServiceRequest::decode(body.as_slice()).unwrap())
            .collect()
    }
}

/// The attributes of a span as text.
pub(super) fn attributes(span: &Span) -> BTreeMap<String, String> {
    texts(&span.attributes)
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().unwrap().value.as_ref().unwrap() {
        Any::StringValue(text) => text.clone(),
        Any::IntValue(number) => number.to_string(),
        Any::BoolValue(flag) => flag.to_string(),
        other => panic!("{other:?}"),
    };
    attributes.iter().map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}

/// Spans as a tree: each below its parent, in the order of their start.
pub(super) fn tree(spans: &[Span]) -> String {
    let ids: Vec<&[u8]> = spans.iter().map(|span| &*span.span_id).collect();
    let mut text = String::new();
    for root in spans.iter().filter(|span| !ids.contains(&&*span.parent_span_id)) {
        draw(spans, root, 0, &mut text);
    }
    text
}

fn draw(spans: &[Span], span: &Span, depth: usize, text: &mut String) {
    *text += &format!("{}{}\n", "  ".repeat(depth), span.name);
    for child in spans.iter().filter(|child| child.parent_span_id == span.span_id) {
        draw(spans, child, depth + 1, text);
    }
}

/// Answers the requests of one connection.
fn serve(stream: TcpStream, (seen, changed): &(Mutex<Seen>, Condvar)) {
    let mut stream = BufReader::new(stream);
    while let Ok((head, body)) = read(&mut stream) {
        let mut now = seen.lock().unwrap();
        now.requests.push((head, body));
        // Still locked: once a test sees this request, it changes only the answer to the next one.
        let has_none = |seen: &mut Seen| seen.answer.is_empty();
        let answer = changed.wait_while(now, has_none).unwrap().answer.clone();
        if stream.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
        seen.lock().unwrap().answered += 1;
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}
