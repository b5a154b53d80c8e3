//! The messages of OTLP that are sent: those fields of `opentelemetry/proto/trace/v1` that are used, by their numbers.

use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;

use super::trace::Place;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub name: String,
    #[prost(int32, tag = "6")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<Attribute>,
    #[prost(message, optional, tag = "15")]
    pub status: Option<SpanStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SpanStatus {
    #[prost(int32, tag = "3")]
    pub code: i32,
}

#[derive(Clone, Copy)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
}

/// A name and its value.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(oneof = "Kind", tags = "1, 3")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Kind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

impl Attribute {
    pub fn text(key: &str, value: &str) -> Attribute {
        Attribute { key: key.into(), value: Some(Value { kind: Some(Kind::Text(value.into())) }) }
    }

    pub fn number(key: &str, value: i64) -> Attribute {
        Attribute { key: key.into(), value: Some(Value { kind: Some(Kind::Number(value)) }) }
    }
}

impl Span {
    pub fn of(place: &Place, name: &str) -> Span {
        Span {
            trace_id: place.trace.into(),
            span_id: place.own.into(),
            parent_span_id: place.above.map(Into::into).unwrap_or_default(),
            name: name.into(),
            kind: SpanKind::Internal as i32,
            ..Span::default()
        }
    }

    pub fn between(&mut self, start: SystemTime, end: SystemTime) {
        let nanos = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        };
        (self.start_time_unix_nano, self.end_time_unix_nano) = (nanos(start), nanos(end));
    }

    /// It did not end well.
    pub fn failed(&mut self) {
        self.status = Some(SpanStatus { code: 2 });
    }
}

/// A request with these spans, as bytes.
pub(super) fn encoded(spans: Vec<Span>) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let scope = Scope { name: "carboy".into(), version: version.into() };
    let resource = Resource {
        attributes: vec![
            Attribute::text("service.name", "carboy"),
            Attribute::text("service.version", version),
        ],
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    Request { resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans }] }
        .encode_to_vec()
}
