//! Files that runs of a fleet leave: a real broker, a real store, two gateways and a node with real jars.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use carboy_server::http::key_digest;
use serde_json::{Value, json};

use crate::fleet_lane::{Process, broker, broker_program, worker};
use crate::serve::{Served, answer};
use crate::support::*;

pub(crate) fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// A store at this port, or at any, and where it is.
fn store(program: &Path, folder: &Folder, port: u16) -> (Process, u16) {
    std::fs::create_dir_all(folder.0.join("bucket")).unwrap();
    let address = format!("127.0.0.1:{port}");
    let mut child = Command::new(program)
        .args(["serve", "s3", "--addr", &address, "--auth-key", "carboyid,carboysecret", "-v"])
        .arg(&folder.0)
        .env("HOME", &folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let process = Process(child);
    let port = lines.by_ref().find_map(|line| {
        let line = line.unwrap();
        let (_, rest) = line.split_once("http://127.0.0.1:")?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    std::thread::spawn(move || lines.for_each(drop));
    (process, port.expect("it listens"))
}

/// A gateway with two tenants, of which the second may keep little.
fn gateway(url: &str, port: u16, session_key: &Path, settings: &Folder) -> Served {
    let tenant = |name: &str, bytes: u64| {
        format!(
            "[tenants.{name}]\nfiles_bytes = {bytes}\nkeys = [{{ sha256 = \"{}\" }}]\n\
             ceiling = {{ walls = \"{}\", limits = {{ wall_ms = 300_000 }} }}\n",
            key_digest(name),
            walls().as_str()
        )
    };
    let text = format!(
        "[store]\nendpoint = \"http://127.0.0.1:{port}\"\nbucket = \"bucket\"\n\
         key_id = {{ value = \"carboyid\" }}\nsecret = {{ value = \"carboysecret\" }}\n{}{}",
        tenant("large", 1 << 20),
        tenant("small", 10)
    );
    let file = settings.0.join("serve.toml");
    std::fs::write(&file, text).unwrap();
    let [file, key] = [file.as_path(), session_key].map(|path| path.to_str().unwrap());
    let options = ["--config", file, "--nats", url, "--session-key", key];
    let mut served = Served::of(&options, "127.0.0.1:0", Folder::new());
    served.key = "large".into();
    served
}

fn run(server: &Served, code: &str) -> Value {
    let body = json!({ "code": code }).to_string();
    let (status, text) = server.ask("POST", "/v1/runs?artifacts=keep", &body);
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Waits until the list of a run's files is as it should be.
fn wait_for(server: &Served, id: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let (status, text) = server.ask("GET", &format!("/v1/runs/{id}/files"), "");
        let list: Value = serde_json::from_str(&text).unwrap();
        if status == 200 && holds(&list) {
            return list;
        }
        assert!(started.elapsed() < LONG, "{status} {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_there(list: &Value) -> bool {
    let files = list["files"].as_array().unwrap();
    !files.is_empty() && files.iter().all(|file| file.get("pending").is_none())
}

#[test]
fn files_of_a_fleet_are_read_from_the_store_through_any_gateway() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let Some(broker_program) = broker_program() else {
        return skip("there is no nats-server");
    };
    let Some(rclone) = named("CARBOY_TEST_RCLONE") else {
        return skip("there is no rclone, which serves S3");
    };
    let folders: Vec<_> = (0..5).map(|_| Folder::new()).collect();
    let (_broker, url) = broker(&broker_program, &folders[0].0);
    let (running, port) = store(&rclone, &folders[1], 0);
    let key = folders[0].0.join("session.key");
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    let node = worker(&url, "filesaaa", &folders[2]);
    let mut one = gateway(&url, port, &key, &folders[3]);
    let other = gateway(&url, port, &key, &folders[4]);

    let code = "open('a b.html', 'w').write('<script>')\nimport os\nos.mkdir('out')\n\
                open('out/n.bin', 'wb').write(bytes(range(256)) * 4)";
    let outcome = run(&one, code);
    let id = outcome["id"].as_str().unwrap();
    assert!(outcome["artifacts"][0]["sha256"].is_string(), "{outcome}");
    for server in [&one, &other] {
        let list = wait_for(server, id, is_there);
        assert_eq!(list["files"], outcome["artifacts"]);
        let mut text = String::new();
        let path = format!("/v1/runs/{id}/files/a%20b.html");
        server.send("GET", &path, "", "").read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200") && body == "<script>", "{text}");
        assert!(head.contains("content-type: text/plain") && head.contains("attachment"), "{head}");
        let part = server.send(
            "GET",
            &format!("/v1/runs/{id}/files/out/n.bin"),
            "Range: bytes=65-70\r\n",
            "",
        );
        assert_eq!(answer(part), (206, "ABCDEF".into()));
        assert_eq!(server.ask("GET", &format!("/v1/runs/{id}/files/none"), "").0, 404);
    }
    // Another tenant finds nothing, and keeps no more than it may.
    one.key = "small".into();
    assert_eq!(one.ask("GET", &format!("/v1/runs/{id}/files"), "").0, 404);
    assert_eq!(one.ask("GET", &format!("/v1/runs/{id}/files/out/n.bin"), "").0, 404);
    let much = run(&one, "open('a', 'w').write('x' * 11)");
    assert_eq!(much["artifacts"], json!([]), "{much}");
    let first = run(&one, "open('a', 'w').write('x' * 6)");
    wait_for(&one, first["id"].as_str().unwrap(), is_there);
    let second = run(&one, "open('a', 'w').write('x' * 6)");
    wait_for(&one, second["id"].as_str().unwrap(), |list| list["refused"] == json!(true));
    one.key = "large".into();

    // The store is away: runs succeed, and their files are there later.
    drop(running);
    let outcome = run(&one, "open('late.txt', 'w').write('late')\nresult = 1");
    let late = outcome["id"].as_str().unwrap();
    assert_eq!(outcome["result"], json!(1));
    let list = wait_for(&one, late, |list| list["files"][0]["pending"] == json!(true));
    assert_eq!(list["files"][0]["path"], json!("late.txt"));
    let path = format!("/v1/runs/{late}/files/late.txt");
    assert_eq!(one.ask("GET", &path, "").0, 503);
    let (_running, _) = store(&rclone, &folders[1], port);
    wait_for(&other, late, is_there);
    assert_eq!(other.ask("GET", &path, ""), (200, "late".into()));
    // What it started writes into its folder until it is gone.
    let below = descendants(node.0.id());
    drop(node);
    wait_until_gone(&below);
}
