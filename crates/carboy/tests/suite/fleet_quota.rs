//! An exact quota over two gateways, with a real broker and real jars.

use std::path::Path;
use std::time::{Duration, Instant};

use carboy_server::http::key_digest;
use serde_json::{Value, json};

use crate::fleet_files::named;
use crate::fleet_lane::{broker_program, broker_with, worker};
use crate::serve::Served;
use crate::support::*;

/// Runs at once.
const QUOTA: usize = 3;

/// When a run was under way, by the clock of the machine.
type Span = (f64, f64);

fn gateway(url: &str, settings: &Folder, key: &Path) -> Served {
    let text = format!(
        "[tenants.test]\nruns_at_once = {QUOTA}\nexact = true\nkeys = [{{ sha256 = \"{}\" }}]\n\
         ceiling = {{ walls = \"{}\", limits = {{ wall_ms = 300_000 }} }}\n",
        key_digest("key"),
        walls().as_str()
    );
    let file = settings.0.join("serve.toml");
    std::fs::write(&file, text).unwrap();
    let [file, key] = [&file, key].map(|path| path.to_str().unwrap());
    let options = ["--config", file, "--nats", url, "--session-key", key];
    let mut served = Served::of(&options, "127.0.0.1:0", Folder::new());
    served.key = "key".into();
    served
}

/// A run, asked for again as long as there is no place for it.
fn run(server: &Served) -> Span {
    let code = "import time\nbegin = time.time()\ntime.sleep(0.2)\nresult = [begin, time.time()]";
    let started = Instant::now();
    loop {
        let (status, body) = server.ask("POST", "/v1/runs", &json!({ "code": code }).to_string());
        let answer: Value = serde_json::from_str(&body).unwrap();
        if status == 200 {
            let time = |at: usize| answer["result"][at].as_f64().unwrap();
            return (time(0), time(1));
        }
        assert!(status == 429 && answer["code"] == json!("quota"), "{status} {body}");
        assert!(started.elapsed() < LONG, "there is never a place");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn two_gateways_never_have_more_runs_at_once_than_an_exact_quota() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let Some(program) = named("CARBOY_TEST_BROKER").or_else(broker_program) else {
        return skip("there is no nats-server");
    };
    let folders: Vec<_> = (0..5).map(|_| Folder::new()).collect();
    let kept = folders[0].0.join("kept");
    let more = ["-js", "-sd", kept.to_str().unwrap()];
    let (_broker, url) = broker_with(&program, &folders[0].0, &more);
    let key = folders[0].0.join("session.key");
    std::fs::write(&key, "0f".repeat(32)).unwrap();
    let nodes = [worker(&url, "firstaaa", &folders[1]), worker(&url, "seconaaa", &folders[2])];
    let gateways = [&folders[3], &folders[4]].map(|settings| gateway(&url, settings, &key));
    let spans: Vec<Span> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..10)
            .map(|number| {
                let server = &gateways[number % 2];
                // One gateway's callers go on when the other's are done: its leases have moved.
                let times = if number % 2 == 0 { 2 } else { 4 };
                scope.spawn(move || (0..times).map(|_| run(server)).collect::<Vec<_>>())
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(spans.len(), 30);
    let under_way = |at: f64| spans.iter().filter(|(begin, end)| *begin <= at && at < *end).count();
    let most = spans.iter().map(|(begin, _)| under_way(*begin)).max();
    assert!(most <= Some(QUOTA), "{most:?} runs at once");
    // What they started writes into their folders until it is gone.
    for node in nodes {
        let below = descendants(node.0.id());
        drop(node);
        wait_until_gone(&below);
    }
}
