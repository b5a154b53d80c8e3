//! The paths of durable jobs in the OpenAPI document.

use serde_json::{Value, json};

use crate::openapi_parts::{WITH_BODY, WITH_KEY, answer, body, object, operation, with};

/// The paths of durable jobs.
pub(crate) fn job_paths(job: &Value) -> Value {
    let seen = json!({ "$ref": "#/components/schemas/DurableJob" });
    let posted = json!({
        "type": "object",
        "properties": {
            "job": job,
            "webhook": {
                "type": ["string", "null"],
                "description": "An address that is told of the end, if the tenant has webhooks.",
            },
        },
        "required": ["job"],
        "additionalProperties": false,
    });
    let mut taken = answer(
        "It is queued, and will be run.",
        object(&[("id", json!({ "type": "string" })), ("state", json!({ "type": "string" }))]),
    );
    taken["headers"] = json!({ "Location": { "schema": { "type": "string" } } });
    let row = object(&[
        ("id", json!({ "type": "string" })),
        ("accepted_ms", json!({ "type": "integer" })),
        ("has_ended", json!({ "type": "boolean" })),
    ]);
    let rows = object(&[("jobs", json!({ "type": "array", "items": row }))]);
    let number = |name: &str, description: &str| {
        json!([{
            "name": name,
            "in": "query",
            "description": description,
            "schema": { "type": "integer", "minimum": 0 },
        }])
    };
    let key = json!([{
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key and request are one job, on every server of a fleet.",
        "schema": { "type": "string", "pattern": "^[!-~]{1,255}$" },
    }]);
    let id =
        json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    json!({
        "/v1/jobs": {
            "post": with(
                operation(
                    "submitJob",
                    "Queue a job, and ask for its end later",
                    &[(202, taken)],
                    &[&WITH_KEY, &WITH_BODY, &[404, 409, 422, 500]],
                ),
                &[("requestBody", body(posted)), ("parameters", key)],
            ),
            "get": with(
                operation(
                    "listJobs",
                    "The caller's durable jobs, the newest first",
                    &[(200, answer("Some of them.", rows))],
                    &[&WITH_KEY, &[400, 404, 500]],
                ),
                &[("parameters", number("most", "How many, at most 200."))],
            ),
        },
        "/v1/jobs/{id}": {
            "parameters": id,
            "get": with(
                operation(
                    "getJob",
                    "How a durable job stands, or how it ended",
                    &[(200, answer("What is known of it.", seen.clone()))],
                    &[&WITH_KEY, &[400, 404, 500]],
                ),
                &[("parameters", number("wait_ms", "How long to wait for its end, at most 30 seconds."))],
            ),
            "delete": operation(
                "endJob",
                "End a durable job",
                &[
                    (200, answer("It had ended.", seen.clone())),
                    (202, answer("It is ended now.", seen)),
                ],
                &[&WITH_KEY, &[404, 500]],
            ),
        },
    })
}

/// What is told of a durable job.
pub(crate) fn durable_job(outcome: &Value) -> Value {
    let text = json!({ "type": "string" });
    let failure = object(&[
        ("code", text.clone()),
        ("detail", text.clone()),
        ("hint", json!({ "type": ["string", "null"] })),
    ]);
    json!({
        "type": "object",
        "properties": {
            "id": text,
            "state": { "type": "string", "enum": ["accepted", "ended", "failed", "cancelled", "expired"] },
            "accepted_ms": { "type": "integer", "description": "Milliseconds since 1970." },
            "ended_ms": { "type": "integer", "description": "Milliseconds since 1970." },
            "outcome": outcome,
            "failure": failure,
        },
        "required": ["id", "state", "accepted_ms"],
    })
}
