//! The protobuf messages for a collector: the part of OTLP 1.x' `ExportTraceServiceRequest` that
//! this gateway uses. Names and numbers are those of `opentelemetry/proto`; tests check them
//! against messages that OpenTelemetry generates.

use bytes::Bytes;
use prost::{Message, Oneof};

use idgate_base::spans::{Kind, Record, Value};

/// Flags of a span: the trace is sampled; whether the parent is remote is known; the parent is
/// remote.
const SAMPLED: u32 = 0x001;
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// `STATUS_CODE_ERROR`
const ERROR: i32 = 2;

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3")]
    value: Option<Any>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Any {
    #[prost(string, tag = "1")]
    String(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
}

/// The message with `records` of the gateway that `resource` describes.
pub(super) fn message(records: &[Record], resource: &[(String, String)]) -> Bytes {
    let attribute = |(key, text): &(String, String)| pair(key, Any::String(text.clone()));
    let resource = Resource { attributes: resource.iter().map(attribute).collect() };
    let scope = Scope { name: "idgate".into(), version: env!("CARGO_PKG_VERSION").into() };
    let scope_spans = ScopeSpans { scope: Some(scope), spans: records.iter().map(span).collect() };
    let spans = ResourceSpans { resource: Some(resource), scope_spans: vec![scope_spans] };
    Bytes::from(Request { resource_spans: vec![spans] }.encode_to_vec())
}

/// How many spans a collector refused although it accepted the message.
pub(super) fn refused(answer: &[u8]) -> usize {
    let answer = Answer::decode(answer).ok();
    let refused = answer.and_then(|answer| answer.partial_success).map(|part| part.rejected_spans);
    refused.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

fn span(record: &Record) -> Span {
    let is_remote = if record.parent_is_remote { IS_REMOTE } else { 0 };
    let attributes = record.attributes.iter().map(|(key, value)| pair(key.name(), any(value)));
    Span {
        trace_id: record.trace_id.to_vec(),
        span_id: record.span_id.to_vec(),
        parent_span_id: record.parent.map(|id| id.to_vec()).unwrap_or_default(),
        name: record.name.clone(),
        kind: match record.kind {
            Kind::Internal => 1,
            Kind::Server => 2,
            Kind::Client => 3,
        },
        start_time_unix_nano: record.started,
        end_time_unix_nano: record.ended.max(record.started),
        attributes: attributes.collect(),
        status: record.failed.then_some(Status { code: ERROR }),
        flags: SAMPLED | HAS_IS_REMOTE | is_remote,
    }
}

fn pair(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn any(value: &Value) -> Any {
    match value {
        Value::Word(word) => Any::String((*word).to_owned()),
        Value::Host(host) => Any::String(host.clone()),
        Value::Words(words) => Any::String(words.join(",")),
        Value::Number(number) => Any::Int(*number),
        Value::Flag(flag) => Any::Bool(*flag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_many_it_refused() {
        let answer = |rejected_spans| {
            let partial_success = Some(PartialSuccess { rejected_spans });
            Answer { partial_success }.encode_to_vec()
        };
        assert_eq!(refused(&answer(3)), 3);
        assert_eq!(refused(&answer(-1)), 0);
        assert_eq!(refused(b""), 0);
        assert_eq!(refused(b"{}"), 0);
    }
}
