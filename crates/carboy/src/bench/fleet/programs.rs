//! The programs of a small fleet and a server beside it, each a process of its own that ends with whoever started it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use carboy_server::http;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::super::load::client::Client;
use crate::failure::Failure;

/// The key of the only tenant: nobody else reaches these servers.
pub const KEY: &str = "key-of-bench";

/// How long a program has to be ready. Interpreters start in less, also on a slow machine.
const TO_START: Duration = Duration::from_secs(60);

/// How long a program has to end by itself, so that it removes what it made.
const TO_END: Duration = Duration::from_secs(10);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(20);

/// A folder that is removed with all that is in it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn make() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("carboy-bench-fleet-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // There is nobody to tell, and nothing in it is secret.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A program that runs.
struct Program {
    child: Child,
    output: PathBuf,
    errors: PathBuf,
}

impl Program {
    fn start(command: &mut Command, folder: &Path, name: &str) -> io::Result<Program> {
        let output = folder.join(format!("{name}.out"));
        let errors = folder.join(format!("{name}.err"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(File::create(&errors)?)
            .spawn()?;
        Ok(Program { child, output, errors })
    }

    /// The first line that it printed, if there is one yet.
    fn line(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.output).ok()?;
        text.split_once('\n').map(|(line, _)| line.to_owned())
    }

    /// An error if it ended, or was to be ready before.
    fn check(&mut self, since: Instant) -> io::Result<()> {
        let errors = || std::fs::read_to_string(&self.errors).unwrap_or_default();
        match self.child.try_wait()? {
            Some(status) => Err(io::Error::other(format!("it ended: {status}: {}", errors()))),
            None if since.elapsed() > TO_START => {
                Err(io::Error::other(format!("it is not ready: {}", errors())))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that ended already is not told.
        if let Ok(None) = self.child.try_wait() {
            kill_process(Pid::from_child(&self.child), Signal::TERM).ok();
        }
        let since = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if since.elapsed() > TO_END {
                self.child.kill().ok();
                self.child.wait().ok();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// All that were started. They end in the opposite order: a worker has its broker until it has left.
pub struct Programs<'a> {
    folder: &'a Path,
    python: &'a Path,
    started: Vec<Program>,
}

impl Drop for Programs<'_> {
    fn drop(&mut self) {
        while self.started.pop().is_some() {}
    }
}

impl<'a> Programs<'a> {
    pub fn new(folder: &'a Path, python: &'a Path) -> Programs<'a> {
        Programs { folder, python, started: vec![] }
    }

    /// Starts a broker on a free port of loopback, and says where it is.
    pub async fn broker(&mut self, program: &Path) -> Result<String, Failure> {
        let ports = self.folder.join("ports");
        std::fs::create_dir(&ports).map_err(Failure::os("make a folder"))?;
        let mut command = Command::new(program);
        command.args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"]).arg(&ports);
        let broker = Program::start(&mut command, self.folder, "broker").map_err(|error| {
            Failure::usage(
                format!("cannot start the broker {}: {error}", program.display()),
                "install nats-server, or say where it is: --broker PATH",
            )
        })?;
        let place = || {
            let file = std::fs::read_dir(&ports).ok()?.next()?.ok()?;
            // It may be half written.
            let text = std::fs::read(file.path()).ok()?;
            let said: Value = serde_json::from_slice(&text).ok()?;
            said["nats"][0].as_str().map(str::to_owned)
        };
        self.until(broker, |_| place()).await.map_err(Failure::os("start the broker"))
    }

    /// Starts a worker with so many places.
    pub async fn worker(&mut self, broker: &str, node: &str, places: usize) -> Result<(), Failure> {
        let places = places.to_string();
        let options = ["--nats", broker, "--node", node, "--slots", &places, "--jobs", "0"];
        let step = Failure::os("start a worker");
        match self.own("worker", node, options) {
            // It says so when it takes runs.
            Ok(worker) => self.until(worker, Program::line).await.map(|_line| ()).map_err(step),
            Err(error) => Err(step(error)),
        }
    }

    /// Starts a server, as a gateway if there is a broker, and says where it is once it takes runs.
    pub async fn server(&mut self, broker: Option<&str>) -> Result<String, Failure> {
        let start = async {
            let settings = self.folder.join("serve.toml");
            let digest = http::key_digest(KEY);
            let text = format!(
                "listen = \"127.0.0.1:0\"\n[tenants.bench]\nkeys = [{{ sha256 = \"{digest}\" }}]\n"
            );
            std::fs::write(&settings, text)?;
            let mut options = vec![OsStr::new("--config"), settings.as_os_str()];
            if let Some(broker) = broker {
                options.extend([OsStr::new("--nats"), OsStr::new(broker)]);
            }
            let name = if broker.is_some() { "gateway" } else { "plain" };
            let server = self.own("serve", name, options)?;
            let address = |server: &Program| {
                server.line()?.rsplit_once("http://").map(|(_, address)| address.to_owned())
            };
            let address = self.until(server, address).await?;
            let client = Client::new(&address);
            let ready = client.request(KEY, "GET /readyz", "ready", "");
            let since = Instant::now();
            while !client.ask(&ready).await.is_ok_and(|answer| answer.status == 200) {
                if let Some(server) = self.started.last_mut() {
                    server.check(since)?;
                }
                tokio::time::sleep(LOOK).await;
            }
            Ok(address)
        };
        let started: io::Result<String> = start.await;
        started.map_err(Failure::os("start a server"))
    }

    /// Starts this program itself with other arguments.
    fn own<S: AsRef<OsStr>>(
        &self,
        command: &str,
        name: &str,
        options: impl IntoIterator<Item = S>,
    ) -> io::Result<Program> {
        let mut program = Command::new(std::env::current_exe()?);
        program.arg(command).arg("--python").arg(self.python).args(options);
        Program::start(&mut program, self.folder, name)
    }

    /// Waits until a program that was started says what is looked for.
    async fn until<T>(
        &mut self,
        mut program: Program,
        look: impl Fn(&Program) -> Option<T>,
    ) -> io::Result<T> {
        let since = Instant::now();
        let seen = loop {
            if let Some(seen) = look(&program) {
                break seen;
            }
            program.check(since)?;
            tokio::time::sleep(LOOK).await;
        };
        self.started.push(program);
        Ok(seen)
    }
}
