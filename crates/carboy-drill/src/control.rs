//! The positive control: the same program on the bare host, where the attack must succeed.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::canary::{Canary, HOLD_IN_CONTROL, random};
use crate::row::{Mode, Row};

/// Runs the programs of a row in one plain interpreter.
const RUNNER: &str = r#"
import ctypes, json, os, sys, tempfile, threading, traceback
# Names, IPC and keys of its own, where that is allowed: nothing it sets stays with the host.
libc = ctypes.CDLL(None)
libc.unshare(0x04000000 | 0x08000000)
asked = json.loads(sys.stdin.readline())
nr = asked["context"]["nr"]
libc.syscall(nr["keyctl"], 1, None)
# For root also mounts of its own, in which the host's files cannot be changed: an attack that names
# one of them by mistake must not find it. What the attack is meant to change lies in the temporary directory.
BIND_REC, PRIVATE_REC, RECURSIVE = 0x1000 | 0x4000, 0x40000 | 0x4000, 0x8000
temporary = os.path.realpath(tempfile.gettempdir()).encode()
if libc.unshare(0x00020000) == 0:
    def read_only(path, set, clear):
        words = (ctypes.c_uint64 * 4)(set, clear, 0, 0)
        return libc.syscall(nr["mount_setattr"], -100, path, RECURSIVE, words, 32)
    kept = [b"/" + name for name in os.listdir(b"/") if name not in (b"proc", b"sys", b"dev", b"run", b"tmp")]
    kept = [path for path in kept if os.path.isdir(path) and not os.path.islink(path)]
    done = [libc.mount(None, b"/", None, PRIVATE_REC, None), libc.mount(temporary, temporary, None, BIND_REC, None)]
    for path in kept:
        done += [libc.mount(path, path, None, BIND_REC, None), read_only(path, 1, 0)]
    done.append(read_only(temporary, 0, 1))
    if any(done):
        sys.exit("the host's files could not be made read-only")
    os.chdir(os.getcwd())
space = {"__name__": "__main__", "context": asked["context"]}
def run(code):
    try:
        exec(compile(code, "job.py", "exec"), space)
    except BaseException:
        traceback.print_exc()
if asked["together"]:
    threads = [threading.Thread(target=run, args=(code,)) for code in asked["programs"]]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
else:
    for code in asked["programs"]:
        run(code)
sys.stdout.write("\n" + json.dumps(space.get("result"), default=str))
"#;
/// How long a control may take before nothing more comes of it.
const LONGEST: Duration = Duration::from_secs(120);

/// What the attack did; nothing means that the row proves nothing.
pub(crate) async fn bare(python: &Path, row: &Row) -> io::Result<Vec<String>> {
    let mut canary = Canary::plant()?;
    let folder = std::env::temp_dir().join(format!("carboy-drill-bare-{}", random()?));
    std::fs::create_dir(&folder)?;
    let asked = json!({
        "context": canary.context(HOLD_IN_CONTROL, &[])?, "programs": row.programs, "together": row.mode == Mode::Together,
    });
    let spoken = speak(python, &folder, &asked.to_string()).await;
    std::fs::remove_dir_all(&folder)?;
    let (out, err) = spoken?;
    canary.damage(&[&out, &err], true)
}

async fn speak(python: &Path, folder: &Path, asked: &str) -> io::Result<(String, String)> {
    let mut child = Command::new(python)
        .args(["-I", "-B", "-c", RUNNER])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id().and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
    if let Some(mut input) = child.stdin.take() {
        // One that ended at once has said why.
        input.write_all(asked.as_bytes()).await.ok();
        input.write_all(b"\n").await.ok();
    }
    let ended = timeout(LONGEST, child.wait_with_output()).await;
    if let Some(group) = group {
        // Whatever it left running goes with it.
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
    let output = ended.map_err(|_| io::Error::other("the control took too long"))??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&output.stdout), text(&output.stderr)))
}
