//! The OpenAPI document of `carboy serve`: the schemas of the types that it reads and writes, and its paths.
//!
//! A test of the door asks for every path here, and finds every status that the door gives.

use std::io;

use carboy_protocol::{
    Job, LanguagePolicy, Opening, Outcome, Piece, Policy, Preset, Reply, ToolFault, Variables,
};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::openapi_files::{file_paths, upload};
use crate::openapi_jobs::{durable_job, job_paths};
use crate::openapi_parts::{
    WITH_BODY, WITH_KEY, answer, asked, body, bytes, idempotency_key, object, open, operation,
    required, with,
};
use crate::openapi_sessions::{session, session_paths};

pub(crate) const DOCUMENT: &str = "docs/openapi.json";

/// The document as it is checked in.
pub(crate) fn document() -> io::Result<String> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let job = generator.subschema_for::<Job>();
    let outcome = generator.subschema_for::<Outcome>().to_value();
    let policy = generator.subschema_for::<Policy>();
    let language = generator.subschema_for::<LanguagePolicy>();
    let fault = generator.subschema_for::<ToolFault>();
    let of_sessions = session_paths(
        &generator.subschema_for::<Opening>().to_value(),
        &generator.subschema_for::<Piece>().to_value(),
        &generator.subschema_for::<Reply>().to_value(),
        &generator.subschema_for::<Variables>().to_value(),
    );
    let mut schemas = generator.take_definitions(true);
    leave_out(&mut schemas);
    schemas.insert("Problem".into(), problem());
    schemas.insert("Run".into(), run(&outcome));
    schemas.insert("Session".into(), session());
    schemas.insert("Upload".into(), upload());
    schemas.insert("DurableJob".into(), durable_job(&outcome));
    let of_jobs = job_paths(&job.clone().to_value());
    let mut paths =
        paths(job.to_value(), outcome, policy.to_value(), language.to_value(), fault.to_value());
    for more in [file_paths(), of_jobs, of_sessions] {
        if let (Some(all), Value::Object(more)) = (paths.as_object_mut(), more) {
            all.extend(more);
        }
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "carboy serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs Python that nobody has reviewed, sealed by the kernel. docs/serve.md has the settings.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:8722" }],
        "security": [{ "key": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
        },
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Leaves out what the types have and the door does not take: files of the host.
fn leave_out(schemas: &mut Map<String, Value>) {
    for name in ["Job", "Opening"] {
        let Some(fields) = schemas.get_mut(name).and_then(|of| of["properties"].as_object_mut())
        else {
            continue;
        };
        fields.retain(|name, _| name != "mounts");
        fields["policy"] = json!({
            "oneOf": [
                { "$ref": "#/components/schemas/Policy" },
                { "type": "string", "enum": Preset::ALL.map(Preset::as_str), "description": "The name of a preset." },
            ],
            "description": "What the code may do and how much it may use: lowered to the tenant's ceiling, and that \
                            ceiling if there is none.",
        });
    }
    let sources = schemas.get_mut("FileSource").and_then(|source| source["oneOf"].as_array_mut());
    if let Some(sources) = sources {
        sources.retain(|source| source["properties"]["path"].is_null());
    }
}

fn paths(job: Value, outcome: Value, policy: Value, language: Value, fault: Value) -> Value {
    let run = json!({ "$ref": "#/components/schemas/Run" });
    let events = "Events: `run` with the id, `output` with stream and text, `call` of a tool, and last `outcome` or `failed`.";
    let mut started = answer("What came of the run, whatever the code did.", outcome);
    started["content"]["text/event-stream"] =
        json!({ "schema": { "type": "string", "description": events } });
    let under_way =
        object(&[("id", json!({ "type": "string" })), ("ms", json!({ "type": "number" }))]);
    let ids = json!({ "type": "array", "items": { "type": "string" } });
    let list =
        object(&[("under_way", json!({ "type": "array", "items": under_way })), ("ended", ids)]);
    let to_check = json!({
        "type": "object",
        "properties": { "code": { "type": "string" }, "language": language },
        "required": ["code"],
        "additionalProperties": false,
    });
    let answered = json!({
        "type": "object",
        "properties": {
            "call": { "type": "integer", "minimum": 0 },
            "result": { "description": "What the tool returned: any JSON." },
            "error": fault,
        },
        "required": ["call"],
        "additionalProperties": false,
    });
    let report = object(&[
        ("profile", json!({ "type": "string" })),
        ("clean", json!({ "type": "boolean" })),
        ("violations", json!({ "type": "array", "items": { "type": "object" } })),
        ("more", json!({ "type": "integer" })),
    ]);
    let presets = json!({ "type": "object", "additionalProperties": policy.clone() });
    let policies = object(&[("ceiling", policy), ("presets", presets)]);
    let files = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Artifact" } });
    let records = object(&[
        ("records", json!({ "type": "array", "items": { "type": "object" } })),
        ("next", json!({ "type": ["string", "null"] })),
    ]);
    let works = object(&[("status", json!({ "type": "string" }))]);
    let text = json!({
        "description": "Counts and gauges in the text format of Prometheus.",
        "content": { "text/plain": { "schema": { "type": "string" } } },
    });
    let id =
        json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    json!({
        "/v1/runs": {
            "post": with(
                operation("startRun", "Run a job", &[(200, started)], &[&WITH_KEY, &WITH_BODY, &[404, 409, 422, 500]]),
                &[("requestBody", body(job)), ("parameters", asked())],
            ),
            "get": operation(
                "listRuns",
                "The caller's runs: those under way, and those that ended a short time ago",
                &[(200, answer("Their ids.", list))],
                &[&WITH_KEY, &[500]],
            ),
            "delete": with(
                operation(
                    "endRunOfKey",
                    "End the run of an `Idempotency-Key`, also if its request has not come yet",
                    &[
                        (200, answer("It was over.", run.clone())),
                        (202, answer("It is being ended.", run.clone())),
                        (204, json!({ "description": "There is none, and for ten minutes there will be none." })),
                    ],
                    &[&WITH_KEY, &[400, 500]],
                ),
                &[("parameters", json!([required(idempotency_key())]))],
            ),
        },
        "/v1/runs/{id}": {
            "parameters": id.clone(),
            "get": operation(
                "getRun",
                "How far a run is, or how it ended",
                &[(200, answer("What is known of it.", run.clone()))],
                &[&WITH_KEY, &[404, 500]],
            ),
            "delete": operation(
                "endRun",
                "End a run. Whoever started it is told how it ended",
                &[
                    (200, answer("It was over.", run.clone())),
                    (202, answer("It is being ended.", run)),
                ],
                &[&WITH_KEY, &[404, 500]],
            ),
        },
        "/v1/runs/{id}/answers": {
            "parameters": id.clone(),
            "post": with(
                operation(
                    "answerCall",
                    "Answer a call of a tool, which came as an event `call`",
                    &[(204, json!({ "description": "It was handed over." }))],
                    &[&WITH_KEY, &WITH_BODY, &[404, 409, 500]],
                ),
                &[("requestBody", body(answered))],
            ),
        },
        "/v1/runs/{id}/files": {
            "parameters": id.clone(),
            "get": operation(
                "listFiles",
                "The files that a run left, of those started with `artifacts=keep`",
                &[(200, answer("Those that are kept.", object(&[("files", files)])))],
                &[&WITH_KEY, &[404, 500]],
            ),
        },
        "/v1/runs/{id}/files/{path}": {
            "parameters": [
                id[0],
                {
                    "name": "path", "in": "path", "required": true, "allowReserved": true,
                    "schema": { "type": "string" },
                    "description": "Its path, as the outcome has it, slashes included.",
                },
            ],
            "get": operation(
                "getFile",
                "The content of a file that a run left, or with `Range` one part of it",
                &[(200, bytes("All of it.")), (206, bytes("The part."))],
                &[&WITH_KEY, &[404, 416, 500]],
            ),
        },
        "/v1/records": {
            "get": with(
                operation(
                    "listRecords",
                    "Records of the caller's runs, the newest first, if the server keeps any",
                    &[(200, answer("Some of them, and where to go on.", records))],
                    &[&WITH_KEY, &[400, 404, 500]],
                ),
                &[("parameters", records_query())],
            ),
        },
        "/v1/records/{id}": {
            "parameters": id.clone(),
            "get": operation(
                "getRecord",
                "All that is recorded of a run",
                &[(200, answer("The record.", json!({ "type": "object" })))],
                &[&WITH_KEY, &[404, 500]],
            ),
        },
        "/v1/check": {
            "post": with(
                operation(
                    "checkCode",
                    "What the guard says of code, without running it",
                    &[(200, answer("What it says.", report))],
                    &[&WITH_KEY, &WITH_BODY, &[500]],
                ),
                &[("requestBody", body(to_check))],
            ),
        },
        "/v1/policies": {
            "get": operation(
                "getPolicies",
                "What runs of this caller get at most, and what each preset comes to",
                &[(200, answer("Policies.", policies))],
                &[&WITH_KEY, &[500]],
            ),
        },
        "/metrics": {
            "get": operation("getMetrics", "What is counted, of all tenants", &[(200, text)], &[&WITH_KEY, &[500]]),
        },
        "/healthz": {
            "get": open(operation(
                "getHealth", "Whether the process answers", &[(200, answer("It does.", works.clone()))], &[&[500]],
            )),
        },
        "/readyz": {
            "get": open(operation(
                "getReadiness", "Whether runs are taken", &[(200, answer("They are.", works))], &[&[500, 503]],
            )),
        },
    })
}

fn records_query() -> Value {
    let text = |name: &str, description: &str| json!({ "name": name, "in": "query", "description": description, "schema": { "type": "string" } });
    json!([
        text("status", "`ok`, `error`, `failed` or `abandoned`."),
        text("kind", "The kind of the error."),
        text("since", "Not before this time, or not older: `2026-11-16T03:21`, `12h`."),
        text("until", "Before this time."),
        text("next", "Where the list before ended, as it said."),
        {
            "name": "most",
            "in": "query",
            "description": "How many: 50 if it is not said.",
            "schema": { "type": "integer", "minimum": 1, "maximum": 200 },
        },
    ])
}

fn problem() -> Value {
    let text = json!({ "type": "string" });
    let mut problem = object(&[
        ("type", text.clone()),
        ("title", text.clone()),
        ("status", json!({ "type": "integer" })),
        ("code", text.clone()),
        ("detail", text.clone()),
    ]);
    problem["properties"]["hint"] = text;
    problem["properties"]["retry_after_ms"] = json!({
        "type": "integer", "minimum": 1, "description": "When it may work, as `Retry-After` says in whole seconds.",
    });
    problem
}

fn run(outcome: &Value) -> Value {
    let states = ["under_way", "ended", "failed", "abandoned"];
    let mut run = object(&[
        ("id", json!({ "type": "string" })),
        ("state", json!({ "type": "string", "enum": states })),
    ]);
    run["properties"]["ms"] =
        json!({ "type": "number", "description": "How long it has been under way." });
    run["properties"]["outcome"] = json!({ "anyOf": [outcome, { "type": "null" }] });
    run["properties"]["problem"] = json!({ "$ref": "#/components/schemas/Problem" });
    run
}
