//! The server under load: `carboy serve` as a process of its own, with its log in a file.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use carboy_server::http;
use serde_json::Value;

use super::client::Client;

/// The tenants: two that are honest, one that is hostile, one that is paced and one that asks for ten times its quota.
pub const TENANTS: [&str; 5] = ["a", "b", "hostile", "paced", "greedy"];

/// A server that runs, and is killed if nobody ended it.
pub struct Server {
    child: Child,
    log: PathBuf,
    pub address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The key of a tenant: nobody else reaches this server.
pub fn key(tenant: &str) -> String {
    format!("key-of-{tenant}")
}

/// What a server is told.
pub struct Wanted<'a> {
    pub address: &'a str,
    /// Connections at once.
    pub connections: usize,
    /// Runs a second that `greedy` may begin.
    pub greedy: f64,
}

fn settings(wanted: &Wanted<'_>) -> String {
    let Wanted { address, connections, greedy } = wanted;
    let mut text = format!(
        "listen = \"{address}\"\n[bounds]\nconnections = {connections}\nheader_ms = 120000\nbody_ms = 5000\nwrite_ms = 5000\ndrain_ms = 30000\n"
    );
    for name in TENANTS {
        let digest = http::key_digest(&key(name));
        text.push_str(&format!("[tenants.{name}]\nkeys = [{{ sha256 = \"{digest}\" }}]\n"));
        if name == "greedy" {
            text.push_str(&format!("runs_per_second = {greedy:.3}\nruns_at_once = 8\n"));
        }
    }
    text
}

impl Server {
    /// Starts one, and waits until it takes runs.
    pub async fn start(folder: &Path, python: &Path, wanted: &Wanted<'_>) -> io::Result<Server> {
        let (config, log) = (folder.join("serve.toml"), folder.join("log"));
        std::fs::write(&config, settings(wanted))?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--log", "json", "--config"])
            .arg(config)
            .arg("--python")
            .arg(python)
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?)
            .spawn()?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut said)?;
        }
        let address = said.trim().rsplit_once("http://").map(|(_, address)| address.to_owned());
        let mut server = Server { child, log, address: address.unwrap_or_default() };
        let client = Client::new(&server.address);
        let ready = client.request(&key("a"), "GET /readyz", "ready", "");
        loop {
            if let Some(status) = server.child.try_wait()? {
                let log = std::fs::read_to_string(&server.log).unwrap_or_default();
                return Err(io::Error::other(format!("the server ended: {status}: {log}")));
            }
            if client.ask(&ready).await.is_ok_and(|answer| answer.status == 200) {
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What the process has in memory, in bytes.
    pub fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    }

    /// The processor time of its own threads so far, in milliseconds. What its jars use is not in it.
    pub fn cpu_ms(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        // The name of the program is in brackets, and may have spaces. Times are in hundredths of a second.
        let times = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let ticks: f64 = times.skip(11).take(2).filter_map(|time| time.parse::<f64>().ok()).sum();
        ticks * 10.0
    }

    /// Tells it to end.
    pub fn terminate(&self) -> io::Result<()> {
        let pid = rustix::process::Pid::from_child(&self.child);
        Ok(rustix::process::kill_process(pid, rustix::process::Signal::TERM)?)
    }

    /// Waits until it has ended.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What it has written so far of requests and runs.
    pub fn log(&self) -> io::Result<Log> {
        let mut log = Log::default();
        for line in std::fs::read_to_string(&self.log)?.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let request = line["request"].as_str().unwrap_or_default();
            match line["event"].as_str() {
                Some("run") => *log.runs.entry(request.to_owned()).or_default() += 1,
                Some("request") if request.starts_with("load-") => {
                    if let (Some(429 | 503), Some(ms)) =
                        (line["status"].as_u64(), line["ms"].as_f64())
                    {
                        log.refusals_ms.push(ms);
                    }
                }
                Some("failure") => log.failures.push(line.to_string()),
                _ => {}
            }
        }
        Ok(log)
    }
}

/// What a server says of itself.
#[derive(Default)]
pub struct Log {
    /// How many runs each request led to.
    pub runs: BTreeMap<String, usize>,
    /// How long each refusal took it.
    pub refusals_ms: Vec<f64>,
    /// Its own failures.
    pub failures: Vec<String>,
}
