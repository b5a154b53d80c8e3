//! The program behind HTTP, with real runs. How its door treats hostile clients is tested in `carboy-server`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use carboy_protocol::{Kind, Outcome};
use carboy_server::http::key_digest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::*;

pub(crate) struct Served {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
    place: String,
    pub(crate) key: String,
    pub(crate) folder: Folder,
}

/// A test that fails leaves nothing behind.
impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Served {
    /// A server as somebody gets it who types no more than that, at any free port.
    fn start() -> Served {
        let mut served = Served::of(&["--walls", walls().as_str()], "127.0.0.1:0", Folder::new());
        let _words = served.line();
        served.key = served.line().trim().to_owned();
        let (_words, curl) = (served.line(), served.line());
        assert!(curl.contains("curl ") && curl.contains(&served.key), "{curl}");
        served
    }

    /// A server with settings, whose clocks are out of the way.
    pub(crate) fn with_settings(listen: &str, folder: Folder) -> Served {
        Served::with_options(&[], listen, folder)
    }

    /// The same with more options.
    pub(crate) fn with_options(more: &[&str], listen: &str, folder: Folder) -> Served {
        let key = "the key of this test";
        let settings = format!(
            "[tenants.test]\nkeys = [{{ sha256 = \"{}\", scopes = [\"run\", \"read\", \"metrics\"] }}]\n\
             ceiling = {{ walls = \"{}\", limits = {{ wall_ms = 300_000 }} }}\n",
            key_digest(key),
            walls().as_str()
        );
        let settings_in = Folder::new();
        let file = settings_in.0.join("serve.toml");
        std::fs::write(&file, settings).unwrap();
        let options = [&["--config", file.to_str().unwrap()], more].concat();
        let mut served = Served::of(&options, listen, folder);
        served.key = key.into();
        served
    }

    pub(crate) fn of(options: &[&str], listen: &str, folder: Folder) -> Served {
        let mut child = Command::new(program())
            .args(["serve", "--listen", listen])
            .args(options)
            .args(["--python".as_ref(), python().as_os_str()])
            .env("TMPDIR", &folder.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (place, key) = (String::new(), String::new());
        let mut served = Served { child, output, place, key, folder };
        let first = served.line();
        served.place = first.trim_end().strip_prefix("carboy serves on ").unwrap().to_owned();
        served
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Waits until an answer has something in it.
    pub(crate) fn wait_for(&self, path: &str, words: &str) {
        let started = Instant::now();
        while !self.ask("GET", path, "").1.contains(words) {
            assert!(started.elapsed() < LONG, "{path} never says {words}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn connect(&self) -> Box<dyn Stream> {
        match self.place.strip_prefix("unix:") {
            Some(path) => Box::new(UnixStream::connect(path).unwrap()),
            None => {
                Box::new(TcpStream::connect(self.place.strip_prefix("http://").unwrap()).unwrap())
            }
        }
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Box<dyn Stream> {
        let mut stream = self.connect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
            self.key,
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        stream
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        answer(self.send(method, path, "", body))
    }

    fn run(&self, code: &str) -> Outcome {
        let (status, body) = self.ask("POST", "/v1/runs", &json!({ "code": code }).to_string());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    pub(crate) fn signal(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Waits for its end. Nothing of it is left.
    pub(crate) fn end(mut self, below: &std::collections::BTreeSet<u32>) {
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        wait_until_gone(below);
        let left: Vec<_> = std::fs::read_dir(&self.folder.0).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

pub(crate) fn answer(mut stream: Box<dyn Stream>) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.into())
}

#[test]
fn a_server_without_settings_runs_code_for_whoever_has_its_key() {
    let server = Served::start();
    let outcome = server.run("import os\nprint('hello')\nresult = 6 * 7");
    assert_eq!((result(&outcome).as_str(), outcome.stdout.text.as_str()), ("42", "hello\n"));
    assert_eq!(outcome.isolation.walls, walls());
    // What the guest does is an outcome.
    assert_eq!(error(&server.run("1 / 0")).kind, Kind::Exception);
    let body =
        json!({ "code": "result = 1", "policy": { "limits": { "wall_ms": 0 } } }).to_string();
    assert_eq!(server.ask("POST", "/v1/runs", &body).0, 400);
    let body = json!({ "code": "result = open('a.txt').read()", "files": { "a.txt": { "text": "here" } } });
    let (_, body) = server.ask("POST", "/v1/runs", &body.to_string());
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["result"], "here");
    server.wait_for("/readyz", "\"ready\"");
    server.wait_for("/metrics", "carboy_errors_total{tier=\"process\",kind=\"exception\"} 1\n");
    server.wait_for("/metrics", "carboy_runs_running 0\n");
    assert!(server.ask("GET", "/metrics", "").1.contains("carboy_memory_budget_bytes "));
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}

#[test]
fn events_of_a_run_come_as_they_happen_and_it_can_be_ended() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let folder = Folder::new();
    let place = format!("unix:{}", folder.0.join("carboy.sock").display());
    let server = Served::with_settings(&place, folder);
    let body =
        json!({ "code": "print('one', flush=True)\nimport time\ntime.sleep(600)" }).to_string();
    let stream = server.send("POST", "/v1/runs", "Accept: text/event-stream\r\n", &body);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut data_of = |name: &str| -> Value {
        let event = format!("event: {name}");
        assert!(lines.any(|line| line == event), "there is no {name}");
        serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap()
    };
    let id = data_of("run")["id"].as_str().unwrap().to_owned();
    assert_eq!(data_of("output"), json!({ "stream": "stdout", "text": "one\n" }));
    assert_eq!(server.ask("DELETE", &format!("/v1/runs/{id}"), "").0, 202);
    let outcome = data_of("outcome");
    assert_eq!((&outcome["id"], &outcome["error"]["kind"]), (&json!(id), &json!("cancelled")));
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}

#[test]
fn tools_are_called_on_the_stream_and_answered_beside_it() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    let code = "from tools import add\nresult = [add(1, 2), add(3, b=4)]";
    let body = json!({ "code": code, "tools": [{ "name": "add" }] }).to_string();
    let stream = server.send("POST", "/v1/runs", "Accept: text/event-stream\r\n", &body);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut data_of = |name: &str| -> Value {
        let event = format!("event: {name}");
        assert!(lines.any(|line| line == event), "there is no {name}");
        serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap()
    };
    let path = format!("/v1/runs/{}/answers", data_of("run")["id"].as_str().unwrap());
    for (args, kwargs, sum) in [(json!([1, 2]), json!({}), 3), (json!([3]), json!({ "b": 4 }), 7)] {
        let call = data_of("call");
        assert_eq!(
            (&call["tool"], &call["args"], &call["kwargs"]),
            (&json!("add"), &args, &kwargs)
        );
        let answer = json!({ "call": call["call"], "result": sum }).to_string();
        assert_eq!(server.ask("POST", &path, &answer).0, 204);
    }
    assert_eq!(data_of("outcome")["result"], json!([3, 7]));
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}

/// What a server sends until it has sent these words.
pub(crate) fn read_until(stream: &mut impl Read, words: &str) -> String {
    let (mut text, mut buffer) = (String::new(), [0; 1024]);
    while !text.contains(words) {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{text}");
        text += std::str::from_utf8(&buffer[..count]).unwrap();
    }
    text
}

#[test]
fn a_server_that_is_told_to_end_answers_what_it_accepted() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    server.run("result = 1");
    let code = "print('up', flush=True)\nimport time\ntime.sleep(1)\nresult = 'late'";
    let body = json!({ "code": code }).to_string();
    let mut stream = server.send("POST", "/v1/runs", "Accept: text/event-stream\r\n", &body);
    let mut text = read_until(&mut stream, "up\\n");
    let below = descendants(server.child.id());
    server.signal();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("event: outcome") && text.contains("\"result\":\"late\""), "{text}");
    server.end(&below);
}

#[test]
fn a_client_that_goes_away_ends_its_run_and_its_jar() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    server.run("result = 1");
    let code = "print('up', flush=True)\nimport time\ntime.sleep(600)";
    let body = json!({ "code": code }).to_string();
    let mut stream = server.send("POST", "/v1/runs", "Accept: text/event-stream\r\n", &body);
    read_until(&mut stream, "up\\n");
    drop(stream);
    server.wait_for("/metrics", "carboy_abandoned_total 1\n");
    server.wait_for("/metrics", "carboy_runs_running 0\n");
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}

/// Settings in a file, and what is wrong with some.
fn configured(text: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let file = folder.0.join("serve.toml");
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

#[test]
fn settings_that_cannot_be_used_are_named_before_anything_is_served() {
    if !belongs_here(&["user"]) {
        return;
    }
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let key = format!("[[tenants.a.keys]]\nsha256 = \"{digest}\"\n");
    for (text, words) in [
        ("", "no tenant has a key"),
        ("[tenants.a]\nkeys = [{ sha256 = \"12\" }]", "tenants.a.keys.sha256"),
        (&format!("{key}[tenants.a.ceiling.limits]\nwall_ms = 0"), "tenants.a.ceiling"),
        (&format!("{key}[bounds]\nconections = 1"), "conections"),
        (&format!("listen = \"0.0.0.0:0\"\n{key}"), "no `hosts` are set"),
    ] {
        let (_folder, file) = configured(text);
        let output = Command::new(program())
            .args(["serve", "--config"])
            .arg(&file)
            .args(["--python".as_ref(), python().as_os_str()])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains(words) && output.stdout.is_empty(), "{text}: {said}");
    }
    let output = Command::new(program()).args(["serve", "--new-key"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("carboy_") && text.contains("sha256 = \""), "{text}");
}

#[test]
fn a_module_that_cannot_be_preloaded_ends_the_server() {
    if !belongs_here(&["user", "root-nested"]) {
        return;
    }
    let output = Command::new(program())
        .args(["serve", "--listen", "127.0.0.1:0", "--walls", walls().as_str()])
        .args(["--preload", "there_is_no_such_module", "--python"])
        .arg(python())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("error: cannot preload there_is_no_such_module"), "{said}");
    assert!(output.stdout.is_empty(), "it said that it serves");
}

#[test]
fn an_uploaded_file_is_handed_in_as_it_lies_on_the_disk() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::start();
    server.wait_for("/readyz", "\"ready\"");
    // More than a job may bring along by itself.
    let much = "0123456789abcdef".repeat((33 << 20) / 16);
    let (status, told) = server.ask("POST", "/v1/files", &much);
    assert_eq!(status, 201, "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["bytes"], much.len());
    let code = "text = open('much.txt').read()\nresult = [len(text), text[-4:]]";
    let files = json!({ "much.txt": { "sha256": told["sha256"] } });
    for _ in 0..2 {
        let job = json!({ "code": code, "files": files }).to_string();
        let (status, body) = server.ask("POST", "/v1/runs", &job);
        assert_eq!(status, 200, "{body}");
        let outcome: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(outcome["result"], json!([much.len(), "cdef"]), "{body}");
    }
    if walls() == carboy_protocol::Walls::Full {
        let (status, body) =
            server.ask("POST", "/v1/sessions", &json!({ "files": files }).to_string());
        assert_eq!(status, 201, "{body}");
        let session: Value = serde_json::from_str(&body).unwrap();
        let digest = told["sha256"].as_str().unwrap();
        // What is open stays open.
        assert_eq!(server.ask("DELETE", &format!("/v1/files/{digest}"), "").0, 204);
        let path = format!("/v1/sessions/{}/runs", session["id"].as_str().unwrap());
        let (status, body) = server.ask("POST", &path, &json!({ "code": code }).to_string());
        let reply: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &reply["outcome"]["result"][1]), (200, &json!("cdef")), "{body}");
    }
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}
