//! Engines of one user beside each other, and beside whatever else that user does: what the kernel counts
//! for a user as a whole must not fail a run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::*;

/// Sends descriptors that nobody receives, as the user that jars run as, and keeps them on their way until
/// standard input ends.
const IN_FLIGHT: &str = r#"
import array, os, socket, sys
uid = int(sys.argv[1])
if os.getuid() != uid:
    os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
null = os.open("/dev/null", os.O_RDONLY)
for _ in range(20):
    here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 10))])
print("sent", flush=True)
sys.stdin.read()
"#;

/// A jar passes two descriptors to its engine. The kernel counts those on their way for all processes of a
/// user, against the sender's limit of open files, and a jar's is small.
#[tokio::test]
async fn descriptors_that_the_user_has_in_flight_fail_no_run() {
    let bench = Bench::without_pool();
    let identity = bench.engine.plan(&policy(|_| {})).unwrap().zygote.identity;
    let mut other = Command::new(python())
        .args(["-I", "-c", IN_FLIGHT, &identity.outer_uid.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "sent\n");
    for _ in 0..3 {
        assert_eq!(result(&bench.ask("result = 1").await), "1");
    }
    // The limit itself is in force all the same.
    let code = "import os\nkept = []\ntry:\n    while True: kept.append(os.dup(0))\nexcept OSError:\n    pass\nlen(kept)";
    let opened: u64 = result(&bench.ask(code).await).parse().unwrap();
    assert!((32..=64).contains(&opened), "{opened}");
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    bench.close().await;
}

/// An engine of its own, as a process.
struct Pipe(Child);

impl Pipe {
    fn start() -> Pipe {
        let child = Command::new(program())
            .args(["pipe", "--python"])
            .arg(python())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Pipe(child)
    }

    /// Sends so many jobs, a few at a time, and returns what failed.
    fn load(mut self, jobs: usize) -> Vec<String> {
        const AT_ONCE: usize = 12;
        let mut requests = self.0.stdin.take().unwrap();
        let mut answers = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let mut send = |id: usize| {
            let job = json!({ "code": "result = 1", "policy": { "walls": walls().as_str() } });
            writeln!(requests, "{}", json!({ "run": { "id": id, "job": job } })).unwrap();
        };
        assert!(answers.next().unwrap().unwrap().contains("ready"));
        (0..AT_ONCE).for_each(&mut send);
        let mut failed = Vec::new();
        for done in 0..jobs {
            let line = answers.next().expect("the engine has ended").unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["outcome"]["outcome"]["status"] != "ok" {
                failed.push(line);
            }
            if done + AT_ONCE < jobs {
                send(done + AT_ONCE);
            }
        }
        drop(requests);
        self.0.wait().unwrap();
        failed
    }
}

#[test]
fn two_engines_under_load_fail_no_run() {
    let jobs = size("CARBOY_TEST_SIDE_BY_SIDE", 150);
    let engines = [(); 2].map(|()| std::thread::spawn(move || Pipe::start().load(jobs)));
    for engine in engines {
        let failed = engine.join().unwrap();
        assert!(failed.is_empty(), "{} of {jobs} runs failed: {:#?}", failed.len(), failed.first());
    }
}
