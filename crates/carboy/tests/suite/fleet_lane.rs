//! A fleet of this program on one machine: a real broker, a gateway behind HTTP and two nodes with real jars.
//!
//! What can be lost on the way, and when, is tested in `carboy-fleet` on a bus inside the process, where time stands still.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::serve::Served;
use crate::support::*;

/// A process that ends with the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Process {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

/// Where a broker's program is: where it is said, or where it is installed.
pub(crate) fn broker_program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("CARBOY_TEST_BROKER") {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join("nats-server")).find(|program| program.is_file())
}

/// A broker at a free port, and its address.
pub(crate) fn broker(program: &Path, folder: &Path) -> (Process, String) {
    broker_with(program, folder, &[])
}

/// The same with more options.
pub(crate) fn broker_with(program: &Path, folder: &Path, more: &[&str]) -> (Process, String) {
    let child = Command::new(program)
        .args(["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir"])
        .arg(folder)
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = folder.join(format!("nats-server_{}.ports", child.id()));
    let process = Process(child);
    let started = Instant::now();
    loop {
        let ports = std::fs::read(&file).ok();
        let ports = ports.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        if let Some(url) = ports.as_ref().and_then(|ports| ports["nats"][0].as_str()) {
            return (process, url.to_owned());
        }
        assert!(started.elapsed() < LONG, "the broker never says where it listens");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A node that has joined.
pub(crate) fn worker(url: &str, name: &str, folder: &Folder) -> Process {
    let mut child = Command::new(program())
        .args(["worker", "--nats", url, "--node", name, "--slots", "4"])
        .args(["--walls", walls().as_str(), "--python"])
        .arg(python())
        .env("TMPDIR", &folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let process = Process(child);
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with(&format!("carboy works as {name}.")), "{line}");
    process
}

fn job(code: &str) -> String {
    let limits = json!({ "memory_bytes": 64 << 20, "wall_ms": 60_000 });
    json!({ "code": code, "policy": { "walls": walls().as_str(), "limits": limits } }).to_string()
}

/// How many runs nodes have.
fn running(server: &Served) -> u32 {
    let (_, page) = server.ask("GET", "/metrics", "");
    let line = page.lines().find_map(|line| line.strip_prefix("carboy_runs_running "));
    line.unwrap().parse().unwrap()
}

/// Sends a run whose events are read as they come: the data of the next one of a name.
fn events(server: &Served, body: &str) -> impl FnMut(&str) -> Value + use<> {
    let stream = server.send("POST", "/v1/runs", "Accept: text/event-stream\r\n", body);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    move |name| {
        let event = format!("event: {name}");
        assert!(lines.any(|line| line == event), "there is no {name}");
        serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap()
    }
}

#[test]
fn runs_of_a_fleet_are_answered_whichever_node_dies() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let Some(broker_program) = broker_program() else {
        return skip("there is no nats-server");
    };
    let folders = [Folder::new(), Folder::new(), Folder::new()];
    let (_broker, url) = broker(&broker_program, &folders[0].0);
    let first = worker(&url, "firstaaa", &folders[1]);
    let second = worker(&url, "seconaaa", &folders[2]);
    let server = Served::with_options(&["--nats", &url], "127.0.0.1:0", Folder::new());

    let (status, body) = server.ask("POST", "/v1/runs", &job("result = 6 * 7"));
    let outcome: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &outcome["result"]), (200, &json!(42)), "{body}");
    // More than a message of a broker holds, and more than a piece of one back.
    let large = job(&format!("result = {:?}[:600_000]", "x".repeat(3 << 20)));
    let (status, body) = server.ask("POST", "/v1/runs", &large);
    assert!(status == 200 && body.len() > 600_000, "{status} {}", body.len());

    let code = "from tools import add\nresult = add(1, 2)\nprint('one', flush=True)";
    let with_tool = json!({ "code": code, "tools": [{ "name": "add" }],
        "policy": { "walls": walls().as_str() } });
    let mut data_of = events(&server, &with_tool.to_string());
    let path = format!("/v1/runs/{}/answers", data_of("run")["id"].as_str().unwrap());
    let answer = json!({ "call": data_of("call")["call"], "result": 3 }).to_string();
    assert_eq!(server.ask("POST", &path, &answer).0, 204);
    // Only then does it print: calls and output that it does not wait between come in any order.
    assert_eq!(data_of("output"), json!({ "stream": "stdout", "text": "one\n" }));
    assert_eq!(data_of("outcome")["result"], json!(3));

    // More than one node has places for, so both have some of them.
    let below = descendants(first.0.id());
    let slow = job("import time\ntime.sleep(2)\nresult = 'slow'");
    std::thread::scope(|scope| {
        let ask = || server.ask("POST", "/v1/runs", &slow);
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(ask)).collect();
        // On a slow machine some may be over before others begin, which is no fault.
        let until = |count| !runs.iter().any(|run| run.is_finished()) && running(&server) < count;
        while until(6) {
            std::thread::sleep(Duration::from_millis(10));
        }
        first.signal(Signal::KILL);
        for run in runs {
            let (status, body) = run.join().unwrap();
            assert!(status == 200 && body.contains("\"result\":\"slow\""), "{status} {body}");
        }
    });
    drop(first);
    wait_until_gone(&below);

    // A node that is told to leave finishes first. What it has begun, it says before.
    let below = descendants(second.0.id());
    let code = "import time\nprint('begun', flush=True)\ntime.sleep(2)\nresult = 'slow'";
    let mut data_of = events(&server, &job(code));
    assert_eq!(data_of("output"), json!({ "stream": "stdout", "text": "begun\n" }));
    second.signal(Signal::TERM);
    assert_eq!(data_of("outcome")["result"], json!("slow"));
    let mut second = second;
    assert_eq!(second.0.wait().unwrap().code(), Some(0));
    wait_until_gone(&below);
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}
