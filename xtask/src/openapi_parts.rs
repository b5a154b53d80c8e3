//! What the paths of the OpenAPI document are put together from.

use serde_json::{Map, Value, json};

/// What everybody with a key may be answered.
pub(crate) const WITH_KEY: [u16; 5] = [401, 403, 421, 429, 503];

/// What whoever sends a body may be answered too.
pub(crate) const WITH_BODY: [u16; 4] = [400, 408, 413, 415];

pub(crate) fn operation(
    id: &str,
    summary: &str,
    answers: &[(u16, Value)],
    problems: &[&[u16]],
) -> Value {
    let mut responses = Map::new();
    for (status, answer) in answers {
        responses.insert(status.to_string(), answer.clone());
    }
    for status in problems.iter().copied().flatten() {
        let mut problem = json!({
            "description": "A problem; its code says which.",
            "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
        });
        if [429, 503].contains(status) {
            let header = json!({ "schema": { "type": "integer" }, "description": "Seconds." });
            problem["headers"] = json!({ "Retry-After": header });
        }
        responses.insert(status.to_string(), problem);
    }
    json!({ "operationId": id, "summary": summary, "responses": responses })
}

pub(crate) fn with(mut operation: Value, parts: &[(&str, Value)]) -> Value {
    for (name, part) in parts {
        operation[*name] = part.clone();
    }
    operation
}

/// Without a key.
pub(crate) fn open(operation: Value) -> Value {
    with(operation, &[("security", json!([]))])
}

pub(crate) fn body(schema: Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

pub(crate) fn answer(description: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

pub(crate) fn bytes(description: &str) -> Value {
    json!({
        "description": description,
        "content": { "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } },
    })
}

pub(crate) fn object(fields: &[(&str, Value)]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let names: Vec<_> = fields.iter().map(|(name, _)| name).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

pub(crate) fn query() -> Value {
    json!([
        {
            "name": "deadline_ms",
            "in": "query",
            "description": "When the answer is of no use any more, in milliseconds from now.",
            "schema": { "type": "integer", "minimum": 0 },
        },
        {
            "name": "artifacts",
            "in": "query",
            "description": "Whether files that the run leaves are listed, or also kept for /v1/runs/{id}/files.",
            "schema": { "type": "string", "enum": ["list", "none", "keep"] },
        },
    ])
}

/// The header under which a request may be sent again.
pub(crate) fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key and request are one run, however often they are sent to this server. Other gateways of a fleet do not know the key.",
        "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
    })
}

/// The same parameter where there must be one.
pub(crate) fn required(mut parameter: Value) -> Value {
    parameter["required"] = true.into();
    parameter
}

/// What may stand beside the code of a run.
pub(crate) fn asked() -> Value {
    let mut parameters = query();
    if let Value::Array(parameters) = &mut parameters {
        parameters.push(idempotency_key());
    }
    parameters
}
