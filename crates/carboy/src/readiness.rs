//! Whether a server is ready: its own runs work under every tenant's ceiling, and a few hostile programs are held.
//!
//! `carboy drill` shows much more, in an engine of its own. This is the least that a server shows of the engine that
//! it serves with before it is said to be ready: a file, a port and a socket of the host cannot be reached, and a
//! loop is ended. Nothing of it belongs to a tenant.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use carboy_engine::{
    EngineError, Load, RequestError, RunError, RunOptions, Runner, Sessions, new_id,
};
use carboy_protocol::{Job, Kind, LanguagePolicy, Outcome, Policy, Status};
use carboy_server::http::{Door, Standing, UploadFolder};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::sync::oneshot;

/// How long after a trial that failed the next is made.
const AGAIN: Duration = Duration::from_secs(5);

/// How long jars have to be made ahead. Where memory is short there may be none.
const TO_STAND: Duration = Duration::from_secs(5);

/// How often it is looked for them.
const LOOK: Duration = Duration::from_millis(20);

/// What an endless loop gets, in milliseconds.
const LOOP_MS: u64 = 250;

/// Tries to reach what it was told of, and names what it reached.
const REACH: &str = "\
import socket
reached = []
try:
    reached.append('file ' + open(context['file']).read())
except OSError:
    pass
for family, address in ((socket.AF_INET, ('127.0.0.1', context['port'])), (socket.AF_UNIX, context['socket'])):
    try:
        with socket.socket(family) as client:
            client.connect(address)
            reached.append(f'{family.name} {address}')
    except OSError:
        pass
result = reached
";

/// Says that the door is ready as soon as that is so, and the operator why it is not. An error is one that stays for as
/// long as the server has these options; `begun` hears that the first trial showed none.
pub async fn try_out<R: Sessions>(
    door: Arc<Door<R>>,
    mut ceilings: Vec<Policy>,
    begun: oneshot::Sender<()>,
) -> Result<(), RunError> {
    let mut begun = Some(begun);
    let mut tell = move || begun.take().map(|begun| begun.send(()));
    let mut different: Vec<Policy> = Vec::new();
    for ceiling in ceilings.drain(..) {
        if !different.contains(&ceiling) {
            different.push(ceiling);
        }
    }
    while let Err(error) = trial(door.runner(), &different).await {
        if matches!(error, RunError::Request(RequestError::Preload { .. })) {
            return Err(error);
        }
        tell();
        door.failed("ready", &error);
        door.set_standing(Standing::Failed);
        tokio::time::sleep(AGAIN).await;
    }
    tell();
    // A gateway has neither jars nor memory for them.
    let is_waited_for = |load: Load| load.standing == 0 && load.memory_budget_bytes > 0;
    let standing = async {
        while door.runner().load().is_some_and(is_waited_for) {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(TO_STAND, standing).await.ok();
    door.set_standing(Standing::Ready);
    Ok(())
}

async fn trial(runner: &impl Runner, ceilings: &[Policy]) -> Result<(), RunError> {
    let bait = Bait::lay()?;
    for ceiling in ceilings {
        let plain = run(runner, Job::new(""), ceiling.clone()).await?;
        if plain.status != Status::Ok {
            return Err(failed("run nothing under a tenant's ceiling", &plain));
        }
        // The walls are tried, not the guard before them.
        let open = Policy { language: LanguagePolicy::default(), ..ceiling.clone() };
        let reached = run(runner, bait.job()?, open.clone()).await?;
        let is_nothing = reached.result.as_ref().is_some_and(|result| result.get() == "[]");
        let is_denied = reached.error.as_ref().is_some_and(|error| error.kind == Kind::Denied);
        if !is_nothing && !is_denied {
            return Err(failed("keep a program from the host", &reached));
        }
        let mut short = open;
        short.limits.wall_ms = short.limits.wall_ms.min(LOOP_MS);
        let endless = run(runner, Job::new("while True:\n    pass"), short).await?;
        if endless.error.as_ref().is_none_or(|error| error.kind != Kind::Limit) {
            return Err(failed("end a loop", &endless));
        }
    }
    Ok(())
}

async fn run(runner: &impl Runner, job: Job, policy: Policy) -> Result<Outcome, RunError> {
    runner.run_with(job.with_policy(policy), RunOptions::default()).await
}

fn failed(step: &'static str, outcome: &Outcome) -> RunError {
    let why = match (&outcome.error, &outcome.result) {
        (Some(error), _) => format!("{}: {}", error.type_name, error.message),
        (None, Some(result)) => format!("it answered {}", result.get()),
        (None, None) => "it answered nothing".into(),
    };
    os(step)(std::io::Error::other(why))
}

fn os(step: &'static str) -> impl Fn(std::io::Error) -> RunError {
    move |error| RunError::Engine(EngineError::Os { step, error })
}

/// What a program must not reach, until it is dropped.
struct Bait {
    /// The next server removes it if this one is killed meanwhile.
    folder: UploadFolder,
    port: u16,
    _listeners: (TcpListener, Option<UnixListener>),
}

impl Bait {
    fn lay() -> Result<Bait, RunError> {
        let os = os("lay out what a program must not reach");
        let folder = UploadFolder::make().map_err(&os)?;
        std::fs::write(folder.path().join("secret"), new_id()?).map_err(&os)?;
        let tcp = TcpListener::bind(("127.0.0.1", 0)).map_err(&os)?;
        let port = tcp.local_addr().map_err(&os)?.port();
        let unix = match UnixListener::bind(folder.path().join("socket")) {
            Ok(listener) => Some(listener),
            // The name may be longer than one of a socket can be.
            Err(error) if error.kind() == ErrorKind::InvalidInput => None,
            Err(error) => return Err(os(error)),
        };
        Ok(Bait { folder, port, _listeners: (tcp, unix) })
    }

    fn job(&self) -> Result<Job, RunError> {
        let context = json!({
            "file": self.folder.path().join("secret"),
            "socket": self.folder.path().join("socket"),
            "port": self.port,
        });
        let context = to_raw_value(&context)
            .map_err(std::io::Error::other)
            .map_err(os("name what a program must not reach"))?;
        Ok(Job::new(REACH).with_input("context", context))
    }
}

#[cfg(test)]
mod tests {
    use carboy_protocol::pipe::FromEngine;

    use super::*;

    /// What walls let through that do not hold. There are no such walls, so a script says it.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Hole {
        None,
        File,
        Loop,
    }

    impl Runner for Hole {
        async fn run_with(&self, job: Job, _: RunOptions) -> Result<Outcome, RunError> {
            let ends = include_str!("../../../golden/pipe/outcome.json");
            let ok = include_str!("../../../golden/pipe/outcome_ok.json");
            let is_loop = job.code.starts_with("while") && *self != Hole::Loop;
            let text = if is_loop { ends } else { ok };
            let Ok(FromEngine::Outcome { mut outcome, .. }) = serde_json::from_str(text) else {
                return Err(RunError::Cancelled);
            };
            if let Some(error) = &mut outcome.error {
                error.kind = Kind::Limit;
            }
            let reached = if *self == Hole::File { json!(["file secret"]) } else { json!([]) };
            outcome.result = to_raw_value(&reached).ok();
            Ok(*outcome)
        }

        async fn shutdown(&self) {}
    }

    #[tokio::test]
    async fn a_server_whose_walls_have_a_hole_is_not_ready() {
        let ceilings = [Policy::default()];
        let said =
            async |hole: Hole| trial(&hole, &ceilings).await.err().map(|error| error.to_string());
        assert_eq!(said(Hole::None).await, None);
        let file = said(Hole::File).await;
        assert_eq!(file.as_deref(), Some("could not keep a program from the host"));
        assert_eq!(said(Hole::Loop).await.as_deref(), Some("could not end a loop"));
    }
}
