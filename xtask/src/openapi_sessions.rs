//! The paths of sessions in the OpenAPI document.

use serde_json::{Value, json};

use crate::openapi_parts::{WITH_BODY, WITH_KEY, answer, asked, body, object, operation, with};

/// The paths of sessions.
pub(crate) fn session_paths(
    opening: &Value,
    piece: &Value,
    reply: &Value,
    variables: &Value,
) -> Value {
    let parameter = |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let id = json!([parameter("id")]);
    let session = json!({ "$ref": "#/components/schemas/Session" });
    let sessions = object(&[("sessions", json!({ "type": "array", "items": session.clone() }))]);
    let ids = json!({ "type": "array", "items": { "type": "string" } });
    let mut named = object(&[("name", json!({ "type": "string" }))]);
    named["additionalProperties"] = json!(false);
    let made = || answer("It is open.", session.clone());
    let done = || json!({ "description": "It is done." });
    let mut ran = answer("What came of the run, and what is left of the state.", reply.clone());
    ran["content"]["text/event-stream"] =
        json!({ "schema": { "type": "string", "description": "Events, as those of a run." } });
    let there = [404, 409, 410, 500];
    json!({
        "/v1/sessions": {
            "post": with(
                operation("openSession", "Open a session", &[(201, made())], &[&WITH_KEY, &WITH_BODY, &[404, 409, 410, 500]]),
                &[("requestBody", body(opening.clone()))],
            ),
            "get": operation(
                "listSessions",
                "The caller's sessions, branches among them",
                &[(200, answer("Those that are open.", sessions))],
                &[&WITH_KEY, &[500]],
            ),
        },
        "/v1/sessions/{id}": {
            "parameters": id.clone(),
            "get": operation(
                "getSession",
                "What is known of a session",
                &[(200, answer("It is open.", session.clone()))],
                &[&WITH_KEY, &there],
            ),
            "delete": operation(
                "endSession",
                "End a session with what runs in it, and its branches if it is none itself",
                &[(204, done())],
                &[&WITH_KEY, &there],
            ),
        },
        "/v1/sessions/{id}/runs": {
            "parameters": id.clone(),
            "post": with(
                operation("runInSession", "Run code in a session", &[(200, ran)], &[&WITH_KEY, &WITH_BODY, &there, &[422]]),
                &[("requestBody", body(piece.clone())), ("parameters", asked())],
            ),
        },
        "/v1/sessions/{id}/branch": {
            "parameters": id.clone(),
            "post": operation(
                "branchSession",
                "Open another session that goes on from the same state",
                &[(201, made())],
                &[&WITH_KEY, &there],
            ),
        },
        "/v1/sessions/{id}/interrupt": {
            "parameters": id.clone(),
            "post": operation(
                "interruptSession",
                "End the runs that are under way; the state is what it was before them",
                &[(202, answer("The ids of the runs that are ended.", object(&[("runs", ids.clone())])))],
                &[&WITH_KEY, &there],
            ),
        },
        "/v1/sessions/{id}/variables": {
            "parameters": id.clone(),
            "get": operation(
                "getVariables",
                "What the code of a session has defined, in its own words",
                &[(200, answer("Names, types, and sizes where they are known.", variables.clone()))],
                &[&WITH_KEY, &there],
            ),
        },
        "/v1/sessions/{id}/checkpoints": {
            "parameters": id.clone(),
            "get": operation(
                "listCheckpoints",
                "The names under which the state of a session is kept",
                &[(200, answer("The names.", object(&[("names", ids)])))],
                &[&WITH_KEY, &there],
            ),
            "post": with(
                operation("keepCheckpoint", "Keep the state under a name", &[(204, done())], &[&WITH_KEY, &WITH_BODY, &there]),
                &[("requestBody", body(named.clone()))],
            ),
        },
        "/v1/sessions/{id}/checkpoints/{name}": {
            "parameters": [parameter("id"), parameter("name")],
            "delete": operation(
                "forgetCheckpoint", "Forget what is kept under a name", &[(204, done())], &[&WITH_KEY, &[400], &there],
            ),
        },
        "/v1/sessions/{id}/rollback": {
            "parameters": id,
            "post": with(
                operation("rollBack", "Go back to what is kept under a name", &[(204, done())], &[&WITH_KEY, &WITH_BODY, &there]),
                &[("requestBody", body(named))],
            ),
        },
    })
}

/// What is told of a session.
pub(crate) fn session() -> Value {
    let text = json!({ "type": "string" });
    object(&[
        ("id", text.clone()),
        ("parent", json!({ "type": ["string", "null"], "description": "What it is a branch of." })),
        ("ms", json!({ "type": "number", "description": "How long it has been open." })),
        (
            "runs",
            json!({ "type": "array", "items": text, "description": "Ids of runs that are under way." }),
        ),
    ])
}
