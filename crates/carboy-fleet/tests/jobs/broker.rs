//! A real broker for one test: on ports that the kernel chose, in a folder of its own, gone with the test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A nats-server that runs.
pub struct Broker {
    child: Child,
    folder: PathBuf,
    /// Where clients reach it: `127.0.0.1:PORT`.
    pub place: String,
}

/// A folder for one test, empty.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("carboy-broker-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The program: what the environment names, or what `tests/broker` has or gets. Without one a test is skipped.
pub fn program() -> Option<PathBuf> {
    std::env::var_os("CARBOY_TEST_BROKER").map(Into::into).or_else(|| found(&[]))
}

/// The broker of Debian 12, which must not keep jobs.
pub fn old_program() -> Option<PathBuf> {
    found(&["2.9"])
}

fn found(arguments: &[&str]) -> Option<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/broker");
    let said = Command::new(script).args(arguments).output().ok();
    let Some(said) = said.filter(|said| said.status.success()) else {
        writeln!(std::io::stdout(), "SKIPPED: tests/broker has no nats-server").ok();
        return None;
    };
    Some(String::from_utf8(said.stdout).expect("a path").trim().into())
}

impl Broker {
    /// Starts it in the folder where its `nats.conf` lies, and waits until it listens. The folder is removed with it.
    pub fn start(program: &Path, conf: &Path, folder: PathBuf) -> Broker {
        let ports = folder.join("ports");
        std::fs::create_dir_all(&ports).expect("a folder");
        // It must not outlive a test that is killed.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args([
                "--config",
                "nats.conf",
                "--port",
                "-1",
                "--http_port",
                "-1",
                "--ports_file_dir",
            ])
            .arg(&ports)
            .args(["--log", "/dev/null"])
            .current_dir(conf)
            .stdin(Stdio::null())
            .spawn()
            .expect("setpriv starts");
        let started = Instant::now();
        let place = loop {
            if let Some(place) = place(&ports) {
                break place;
            }
            assert!(child.try_wait().expect("its state").is_none(), "the broker ended");
            assert!(started.elapsed() < Duration::from_secs(120), "the broker does not listen");
            std::thread::sleep(Duration::from_millis(10));
        };
        Broker { child, folder, place }
    }
}

/// What the broker wrote of its ports, once it is there whole.
fn place(ports: &Path) -> Option<String> {
    let file = std::fs::read_dir(ports).ok()?.next()?.ok()?.path();
    let said: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let url = said["nats"][0].as_str()?;
    Some(url.rsplit_once('/')?.1.to_owned())
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}
