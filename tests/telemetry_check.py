"""What an operator has of a real server: spans, read by the official types, lines of JSON, and tools.

telemetry_check.py PROGRAM PYTHON. Every check waits for what is to come, and for nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

PROGRAM, PYTHON = sys.argv[1:]
# Longer than anything takes on a slow machine: a fault shows as an error and not as a test that hangs.
PATIENCE = 120
TRACE, ABOVE = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SECRET = "a word of the code"


class Collector(HTTPServer):
    """Takes spans as a collector does."""

    def __init__(self) -> None:
        self.spans: queue.Queue[Span] = queue.Queue()
        super().__init__(("127.0.0.1", 0), Taker)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, count: int) -> list[Span]:
        """So many spans."""
        return [self.spans.get(timeout=PATIENCE) for _ in range(count)]


class Taker(BaseHTTPRequestHandler):
    """One request to the collector."""

    server: Collector

    def do_POST(self) -> None:
        """Reads spans by the official types."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert (
            self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
        )
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
            assert names["service.name"] == "carboy", names
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.server.spans.put(span)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


class Served:
    """A server, with what it writes to its log."""

    def __init__(self, *options: str, key: str = "", **environment: str) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--python", PYTHON, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )
        assert self.process.stdout is not None
        words = (word for line in self.process.stdout for word in line.split())
        self.url = next(word for word in words if word.startswith("http://"))
        self.key = key or next(word for word in words if word.startswith("carboy_"))

    def ask(self, path: str, job: object = None, **headers: str) -> str:
        """What a request is answered with."""
        data = None if job is None else json.dumps(job).encode()
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            **headers,
        }
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    def end(self) -> str:
        """Ends it, and gives what it wrote to its log."""
        self.process.terminate()
        return self.process.communicate(timeout=PATIENCE)[1]


def words(span: Span) -> dict[str, Any]:
    """The attributes of a span."""
    return {
        pair.key: pair.value.int_value
        if pair.value.HasField("int_value")
        else pair.value.string_value
        for pair in span.attributes
    }


def traces_and_lines() -> None:
    """A run is three spans of the caller's trace, and two lines, and its code is in none of them."""
    collector = Collector()
    served = Served("--log", "json", "--otlp", f"http://127.0.0.1:{collector.server_port}")
    try:
        parent = f"00-{TRACE}-{ABOVE}-01"
        job = {"code": f"print({SECRET!r})\nraise ValueError({SECRET!r})", "inputs": {"x": SECRET}}
        outcome = json.loads(served.ask("/v1/runs", job, traceparent=parent))
        spans = {span.name: span for span in collector.wait_for(3)}
        # One that is not sampled is not sent: the next that comes is another.
        served.ask("/v1/runs", {"code": ""}, traceparent=f"00-{TRACE}-{ABOVE}-00")
        served.ask("/v1/policies")
        (other,) = collector.wait_for(1)
    finally:
        log = served.end()
    assert set(spans) == {"POST /v1/runs", "waiting", "run"}, spans
    request, waiting, run = spans["POST /v1/runs"], spans["waiting"], spans["run"]
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert request.parent_span_id.hex() == ABOVE and request.kind == Span.SPAN_KIND_SERVER
    assert waiting.parent_span_id == run.parent_span_id == request.span_id
    assert len({span.span_id for span in spans.values()}) == 3
    assert words(request) == {
        "http.request.method": "POST",
        "http.route": "/v1/runs",
        "http.response.status_code": 200,
        "carboy.tenant": "local",
    }
    assert words(run) == {
        "carboy.run": outcome["id"],
        "carboy.tenant": "local",
        "carboy.tier": "process",
        "carboy.walls": "full",
        "carboy.status": "error",
        "carboy.error": "exception",
    }
    assert (
        run.status.code == Status.STATUS_CODE_ERROR
        and request.status.code == Status.STATUS_CODE_UNSET
    )
    assert waiting.end_time_unix_nano == run.start_time_unix_nano <= run.end_time_unix_nano
    assert other.name == "GET /v1/policies" and other.trace_id.hex() != TRACE, other
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines] == ["run", "request", "run", "request", "request"], (
        lines
    )
    assert lines[0]["run"] == outcome["id"] and lines[0]["kind"] == "exception", lines
    assert lines[0]["request"] == lines[1]["request"] and lines[1]["status"] == 200
    assert lines[0]["trace"] == lines[1]["trace"] == TRACE
    assert SECRET not in log and served.key not in log, log
    print("telemetry: a run is three spans of its caller's trace and two lines, without its code")


def without_a_collector() -> None:
    """Runs go on where nobody takes spans, and what was dropped is counted."""
    # It takes connections, and never answers.
    silent = HTTPServer(("127.0.0.1", 0), Taker)
    served = Served("--otlp", f"http://127.0.0.1:{silent.server_port}")
    try:
        for _ in range(5):
            assert json.loads(served.ask("/v1/runs", {"code": "result = 1"}))["result"] == 1
        silent.server_close()
        end = time.monotonic() + PATIENCE
        while "\ncarboy_spans_dropped_total 0\n" in served.ask("/metrics"):
            assert time.monotonic() < end, "nothing was dropped"
            time.sleep(0.1)
    finally:
        served.end()
    print("telemetry: runs go on without a collector, and dropped spans are counted")


class Endpoint(BaseHTTPRequestHandler):
    """A tool of the operator's."""

    def do_POST(self) -> None:
        """Answers with what it was sent, or leads elsewhere."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/elsewhere":
            self.send_response(307)
            self.send_header("Location", "/find")
            answer = b""
        else:
            assert self.headers["Authorization"] == TOKEN
            self.send_response(200)
            answer = json.dumps({"path": self.path, "body": body}).encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


TOKEN = "Bearer of the operator"
SETTINGS = """
[[tenants.acme.keys]]
sha256 = "{digest}"

[tenants.acme.tools.find]
url = "{url}/find"
parameters = ["query", "most"]
headers = {{ Authorization = {{ env = "FIND_TOKEN" }} }}

[tenants.acme.tools.elsewhere]
url = "{url}/elsewhere"
timeout_ms = 60_000
"""
CODE = """
found = find("a?b&c\\r\\nX: y", most=3)
refused = []
for call in (lambda: find(other=1), lambda: elsewhere()):
    try:
        call()
    except Exception as error:
        refused.append(str(error))
result = {"found": found, "refused": refused}
"""


def tools() -> None:
    """Code calls an endpoint of the operator's through the server, and sees nothing of how."""
    endpoint = HTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    key = "carboy_of_a_test"
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
        url = f"http://127.0.0.1:{endpoint.server_port}"
        settings.write(SETTINGS.format(url=url, digest=hashlib.sha256(key.encode()).hexdigest()))
        settings.flush()
        served = Served("--log", "json", "--config", settings.name, key=key, FIND_TOKEN=TOKEN)
        try:
            answer = served.ask("/v1/runs", {"code": CODE})
        finally:
            log = served.end()
    result = json.loads(answer)["result"]
    assert result["found"] == {"path": "/find", "body": {"most": 3, "query": "a?b&c\r\nX: y"}}, (
        answer
    )
    assert (
        "no parameter `other`" in result["refused"][0] and "status 307" in result["refused"][1]
    ), answer
    for hidden in (TOKEN, url):
        assert hidden not in log and hidden not in answer
    print(
        "tools: the server calls an operator's endpoint for code, which sees nothing of it but the answer"
    )


traces_and_lines()
without_a_collector()
tools()
