//! The paths of uploaded files in the OpenAPI document.

use serde_json::{Value, json};

use crate::openapi_parts::{WITH_KEY, answer, bytes, object, operation, with};

pub(crate) fn upload() -> Value {
    object(&[
        ("sha256", json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })),
        ("bytes", json!({ "type": "integer" })),
        (
            "expires_in_ms",
            json!({ "type": "integer", "description": "Until then it is kept if nobody uses it." }),
        ),
    ])
}

pub(crate) fn file_paths() -> Value {
    let upload = json!({ "$ref": "#/components/schemas/Upload" });
    let list = object(&[("files", json!({ "type": "array", "items": upload.clone() }))]);
    let content = json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } });
    json!({
        "/v1/files": {
            "post": with(
                operation(
                    "uploadFile",
                    "Upload a file, which runs and sessions then name by its digest",
                    &[
                        (200, answer("Its content was there already, and is kept for longer.", upload.clone())),
                        (201, answer("It is kept.", upload)),
                    ],
                    &[&WITH_KEY, &[400, 408, 413, 500]],
                ),
                // A file may be empty.
                &[("requestBody", json!({ "required": false, "content": content }))],
            ),
            "get": operation(
                "listUploads",
                "The caller's uploaded files",
                &[(200, answer("The one that was used last first.", list))],
                &[&WITH_KEY, &[500]],
            ),
        },
        "/v1/files/{sha256}": {
            "parameters": [{
                "name": "sha256", "in": "path", "required": true, "schema": { "type": "string" },
                "description": "SHA-256 of its content, in hexadecimal.",
            }],
            "get": operation(
                "getUpload",
                "The content of an uploaded file, or with `Range` one part of it",
                &[(200, bytes("All of it.")), (206, bytes("The part."))],
                &[&WITH_KEY, &[404, 416, 500]],
            ),
            "delete": operation(
                "removeUpload",
                "Remove an uploaded file. Runs that have it keep it",
                &[(204, json!({ "description": "It is not kept any more." }))],
                &[&WITH_KEY, &[404, 500]],
            ),
        },
    })
}
