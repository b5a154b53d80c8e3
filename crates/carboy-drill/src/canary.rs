//! What an attack is after: things on this host that no jar may read, reach, change or end.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::{Map, Value, json};

use carboy_engine::{Machine, ablated};

use crate::host_facts::host_facts;

/// How long an attack lasts if nobody ends it: longer than it takes the engine to look, however
/// busy the machine is.
pub const HOLD: Duration = Duration::from_secs(60);

/// How long it lasts where it is to come to its end: longer than the limits of the rows.
pub(crate) const HOLD_IN_CONTROL: Duration = Duration::from_millis(400);

/// The number of every system call on this machine, by name. What it lacks has a number that no kernel has,
/// so that a program tries all the ways in without asking where it is.
pub(crate) fn call_numbers() -> Value {
    const NO_CALL: u32 = 0x0fff_ffff;
    let elsewhere =
        Machine::ALL.into_iter().flat_map(Machine::calls).map(|(name, _)| (name, NO_CALL));
    let all = elsewhere.chain(Machine::HERE.calls());
    Value::Object(all.map(|(name, number)| (name.into(), number.into())).collect::<Map<_, _>>())
}

/// Random letters that appear nowhere else.
pub(crate) fn random() -> io::Result<String> {
    let mut bits = [0; 16];
    getrandom(&mut bits, GetRandomFlags::empty())?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Everything that is planted for one attack, and removed after it.
pub struct Canary {
    folder: PathBuf,
    secret: String,
    flag: String,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    abstract_name: String,
    abstract_listener: UnixListener,
    victim: Child,
    before: BTreeMap<String, Seen>,
}

/// A file as it looks from outside.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    owner: u32,
    changed: (i64, i64),
    content: Vec<u8>,
}

impl Canary {
    /// Plants everything.
    pub fn plant() -> io::Result<Canary> {
        let name = random()?;
        let folder = std::env::temp_dir().join(format!("carboy-drill-{name}"));
        std::fs::create_dir(&folder)?;
        let (secret, flag) = (random()?, random()?);
        let write = |name: &str, mode: u32, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode))
        };
        write("secret.txt", 0o644, &secret)?;
        write("target.txt", 0o666, "unchanged")?;
        let script = format!("#!/bin/sh\ncat {}/secret.txt\n", folder.display());
        write("run.sh", 0o755, &script)?;
        let unix = UnixListener::bind(folder.join("socket"))?;
        std::fs::set_permissions(folder.join("socket"), PermissionsExt::from_mode(0o777))?;
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777))?;
        let address = SocketAddr::from_abstract_name(&name)?;
        let abstract_listener = UnixListener::bind_addr(&address)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        unix.set_nonblocking(true)?;
        abstract_listener.set_nonblocking(true)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        let victim = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut canary = Canary {
            folder,
            secret,
            flag,
            tcp,
            udp,
            unix,
            abstract_name: name,
            abstract_listener,
            victim,
            before: BTreeMap::new(),
        };
        canary.before = canary.look()?;
        Ok(canary)
    }

    /// What a program is told, so that it need not search. `hold` is how long it keeps what it took
    /// or does what it must not do.
    ///
    /// `generated` is what a jar finds that is not the host's; on the bare host there is nothing.
    pub fn context(&self, hold: Duration, generated: &[PathBuf]) -> io::Result<Value> {
        // Where a jar without a private root finds the host's tree.
        let rootless = ablated().iter().any(|missing| missing == "private root");
        let shown = if rootless { "/host" } else { "" };
        let folder = PathBuf::from(format!("{shown}{}", self.folder.display()));
        Ok(json!({
            "secret_file": folder.join("secret.txt"),
            "folder": folder,
            "flag": self.flag,
            "tcp": self.tcp.local_addr()?.port(),
            "udp": self.udp.local_addr()?.port(),
            "unix": folder.join("socket"),
            "abstract": self.abstract_name,
            "pid": self.victim.id(),
            "host": host_facts(),
            "generated": generated,
            "hold": hold.as_secs_f64(),
            "nr": call_numbers(),
            "number": u64::from_str_radix(&self.flag[..8], 16).unwrap_or(7),
        }))
    }

    /// What no jar may read.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    fn look(&self) -> io::Result<BTreeMap<String, Seen>> {
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let found = std::fs::symlink_metadata(entry.path())?;
            let content = if found.is_file() { std::fs::read(entry.path())? } else { vec![] };
            let seen = Seen {
                mode: found.mode(),
                owner: found.uid(),
                changed: (found.mtime(), found.mtime_nsec()),
                content,
            };
            all.insert(entry.file_name().to_string_lossy().into_owned(), seen);
        }
        Ok(all)
    }

    /// What came of the attack, as far as it shows here and in what the program said.
    /// The flag only counts where every layer that should refuse the call is there.
    pub fn damage(&mut self, said: &[&str], all_there: bool) -> io::Result<Vec<String>> {
        let mut damage = Vec::new();
        for (name, text) in [("secret", &self.secret), ("flag", &self.flag)] {
            let counts = name == "secret" || all_there;
            if counts && said.iter().any(|said| said.contains(text)) {
                damage.push(format!("the {name} came out"));
            }
        }
        if self.tcp.accept().is_ok() {
            damage.push("the TCP listener was reached".into());
        }
        if self.udp.recv(&mut [0; 16]).is_ok() {
            damage.push("the UDP socket was reached".into());
        }
        if self.unix.accept().is_ok() {
            damage.push("the Unix socket was reached".into());
        }
        if self.abstract_listener.accept().is_ok() {
            damage.push("the abstract socket was reached".into());
        }
        let now = self.look()?;
        if now != self.before {
            let names = now.keys().chain(self.before.keys());
            let changed = names.filter(|name| now.get(*name) != self.before.get(*name));
            let list: std::collections::BTreeSet<&String> = changed.collect();
            damage.push(format!("files of the host were changed: {list:?}"));
        }
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.victim.id()));
        let stopped = stat.is_ok_and(|stat| stat.contains(") T "));
        if stopped || self.victim.try_wait()?.is_some() {
            damage.push("another process was stopped or ended".into());
        }
        Ok(damage)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // Whatever is gone already need not be ended or removed.
        self.victim.kill().ok();
        self.victim.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}
