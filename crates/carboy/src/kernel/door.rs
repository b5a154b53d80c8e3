//! `carboy kernel run`: the sockets of a kernel, and who does what is asked on them.
//!
//! Cells run one after another, in the order in which they came. What is asked on the control channel is done at
//! once: an interrupt has to reach the cell that runs.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use carboy_engine::{Artifacts, Chunk, Engine, RunError, RunOptions, Session, Stream};
use carboy_protocol::{ExitCode, OutputText, Piece, Policy};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc, oneshot};
use zeromq::{PubSocket, RouterSocket, Socket, SocketRecv, SocketSend};

use super::arguments::{RunKernel, policy};
use super::cell::{self, Shown, Told};
use super::wire::{Connection, Request, Voice, about};
use crate::failure::Failure;
use crate::guest_text::{is_plain_name, streamed};

/// How many requests may wait for their turn.
const WAITING: usize = 1_000;
/// How often it is looked whether Jupyter is still there.
const LOOK: Duration = Duration::from_secs(1);

pub async fn run(arguments: &RunKernel) -> Result<std::process::ExitCode, Failure> {
    let connection = Connection::read(&arguments.connection_file)?;
    let engine = arguments.choice.engine()?;
    let wanted = policy(&arguments.choice)?;
    let session = engine.session(&wanted).await?;
    let bound = |port| connection.endpoint(port);
    let mut heart = RouterSocket::new();
    heart.bind(&bound(connection.hb_port)).await.map_err(unbound)?;
    // Nothing is asked of whoever sits at the notebook, but Jupyter expects that it could be.
    let mut stdin = RouterSocket::new();
    stdin.bind(&bound(connection.stdin_port)).await.map_err(unbound)?;
    let mut everybody = PubSocket::new();
    everybody.bind(&bound(connection.iopub_port)).await.map_err(unbound)?;
    let mut control = RouterSocket::new();
    control.bind(&bound(connection.control_port)).await.map_err(unbound)?;
    let mut shell = RouterSocket::new();
    shell.bind(&bound(connection.shell_port)).await.map_err(unbound)?;
    let door = Door {
        voice: Voice::new(&connection)?,
        python: engine.python().version.clone(),
        engine,
        policy: wanted,
        session: RefCell::new(Some(session.into())),
        everybody: Mutex::new(everybody),
        count: Cell::new(0),
        stop: RefCell::new(None),
    };
    door.tell(None, ("status", json!({ "execution_state": "starting" }))).await;
    let ended = tokio::select! {
        ended = beat(heart) => ended,
        ended = door.control(control) => ended,
        ended = door.shell(shell) => ended,
        ended = told_to_go() => ended.map_err(Failure::os("watch for signals")),
        ended = door.interrupted() => ended.map_err(Failure::os("watch for signals")),
    };
    let session = door.session.take();
    if let Some(session) = session {
        session.close().await;
    }
    door.engine.shutdown().await;
    ended?;
    Ok((ExitCode::Ok as u8).into())
}

fn unbound(error: zeromq::ZmqError) -> Failure {
    Failure::usage(
        format!("cannot listen where the connection file says: {error}"),
        "let Jupyter start the kernel again: it chooses other ports",
    )
}

fn broken(error: zeromq::ZmqError) -> Failure {
    Failure::os("hear Jupyter")(std::io::Error::other(error.to_string()))
}

/// Jupyter asks now and then whether the kernel lives. Anybody may ask, and one who goes away without the answer
/// is nobody's loss.
async fn beat(mut heart: RouterSocket) -> Result<(), Failure> {
    loop {
        let asked = heart.recv().await.map_err(broken)?;
        heart.send(asked).await.ok();
    }
}

/// Waits for a signal to end, or for the end of whoever started this.
async fn told_to_go() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let parent = rustix::process::getppid();
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        if rustix::process::getppid() != parent {
            return Ok(());
        }
    }
}

struct Door {
    voice: Voice,
    python: String,
    engine: Engine,
    policy: Policy,
    /// None after it ended, until the next cell.
    session: RefCell<Option<std::rc::Rc<Session>>>,
    everybody: Mutex<PubSocket>,
    /// How many cells were run.
    count: Cell<u64>,
    /// Stops the cell that runs.
    stop: RefCell<Option<oneshot::Sender<()>>>,
}

/// What Jupyter wants to be run.
#[derive(Deserialize)]
struct Execute {
    code: String,
    #[serde(default)]
    silent: bool,
    #[serde(default = "yes")]
    stop_on_error: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Complete {
    code: String,
    /// In characters.
    cursor_pos: usize,
}

impl Door {
    /// Tells everybody who watches. One who has gone hears nothing.
    async fn tell(&self, about: Option<&Request>, (kind, content): Told) {
        let message = self.voice.tell(about, kind, &content);
        self.everybody.lock().await.send(message).await.ok();
    }

    async fn status(&self, about: &Request, state: &str) {
        self.tell(Some(about), ("status", json!({ "execution_state": state }))).await;
    }

    /// Answers whoever asked, who may have gone.
    async fn answer(
        &self,
        socket: &mut impl SocketSend,
        request: &Request,
        kind: &str,
        content: Value,
    ) {
        socket.send(self.voice.answer(request, kind, &content)).await.ok();
    }

    /// Interrupts a cell when this program is sent SIGINT, as terminals do.
    async fn interrupted(&self) -> std::io::Result<()> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        loop {
            interrupt.recv().await;
            self.interrupt();
        }
    }

    fn interrupt(&self) {
        if let Some(stop) = self.stop.take() {
            // The cell may just have ended.
            stop.send(()).ok();
        }
    }

    /// What does not wait for its turn. It ends when Jupyter wants the kernel to end.
    async fn control(&self, mut socket: RouterSocket) -> Result<(), Failure> {
        loop {
            let message = socket.recv().await.map_err(broken)?;
            let Some(request) = self.voice.hear(message) else { continue };
            self.status(&request, "busy").await;
            let is_last = request.kind == "shutdown_request";
            if is_last || request.kind == "interrupt_request" {
                self.interrupt();
            }
            let content = match request.kind.as_str() {
                "shutdown_request" => request.content().unwrap_or(json!({ "restart": false })),
                "kernel_info_request" => about(&self.python),
                _ => json!({ "status": "ok" }),
            };
            let kind = request.kind.replace("_request", "_reply");
            self.answer(&mut socket, &request, &kind, content).await;
            self.status(&request, "idle").await;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Cells, and questions about them, one after another.
    async fn shell(&self, socket: RouterSocket) -> Result<(), Failure> {
        let (mut answers, mut requests) = socket.split();
        let (sender, mut waiting) = mpsc::channel(WAITING);
        let hear = async {
            loop {
                let message = requests.recv().await.map_err(broken)?;
                if let Some(request) = self.voice.hear(message) {
                    // It waits for room, and so does Jupyter.
                    sender.send(request).await.ok();
                }
            }
        };
        let serve = async {
            while let Some(request) = waiting.recv().await {
                self.status(&request, "busy").await;
                let goes_on = self.serve(&mut answers, &request).await;
                self.status(&request, "idle").await;
                if !goes_on {
                    self.abort(&mut answers, &mut waiting).await;
                }
            }
            Ok(())
        };
        tokio::select! {
            ended = hear => ended,
            ended = serve => ended,
        }
    }

    /// Cells that were sent together with one that failed are not run.
    async fn abort(&self, answers: &mut impl SocketSend, waiting: &mut mpsc::Receiver<Request>) {
        while let Ok(request) = waiting.try_recv() {
            self.status(&request, "busy").await;
            if request.kind == "execute_request" {
                let content = json!({ "status": "aborted", "execution_count": self.count.get() });
                self.answer(answers, &request, "execute_reply", content).await;
            } else {
                self.serve(answers, &request).await;
            }
            self.status(&request, "idle").await;
        }
    }

    /// Whether those that wait may go on.
    async fn serve(&self, answers: &mut impl SocketSend, request: &Request) -> bool {
        let content = match request.kind.as_str() {
            "execute_request" => match request.content::<Execute>() {
                Some(wish) => {
                    let content = self.execute(request, &wish).await;
                    let failed = content["status"] != "ok";
                    self.answer(answers, request, "execute_reply", content).await;
                    return !(failed && wish.stop_on_error);
                }
                None => {
                    json!({ "status": "error", "ename": "carboy", "evalue": "no code", "traceback": [] })
                }
            },
            "kernel_info_request" => about(&self.python),
            "complete_request" => self.complete(request.content()).await,
            "is_complete_request" => json!({ "status": "unknown" }),
            "inspect_request" => {
                json!({ "status": "ok", "found": false, "data": {}, "metadata": {} })
            }
            "history_request" => json!({ "status": "ok", "history": [] }),
            "comm_info_request" => json!({ "status": "ok", "comms": {} }),
            // There is nothing that could be opened, and nothing to be said about it.
            _ => return true,
        };
        let kind = request.kind.replace("_request", "_reply");
        self.answer(answers, request, &kind, content).await;
        true
    }

    /// The session, a new one if the last is over.
    async fn session(&self) -> Result<std::rc::Rc<Session>, RunError> {
        let session = self.session.borrow().clone();
        if let Some(session) = session {
            return Ok(session);
        }
        let session = std::rc::Rc::new(self.engine.session(&self.policy).await?);
        self.session.replace(Some(session.clone()));
        Ok(session)
    }

    /// Runs a cell, tells what it shows, and gives what is answered.
    async fn execute(&self, request: &Request, wish: &Execute) -> Value {
        if !wish.silent {
            self.count.set(self.count.get() + 1);
            let content = json!({ "code": wish.code, "execution_count": self.count.get() });
            self.tell(Some(request), ("execute_input", content)).await;
        }
        let ran = match self.session().await {
            Ok(session) => self.run(request, wish, &session).await,
            Err(error) => cell::of_failure(&error, true),
        };
        for told in ran.told {
            // Who runs silently wants to see nothing but what the code itself showed.
            if !wish.silent || told.0 == "display_data" {
                self.tell(Some(request), told).await;
            }
        }
        let count = self.count.get();
        match ran.error {
            None => {
                json!({ "status": "ok", "execution_count": count, "user_expressions": {}, "payload": [] })
            }
            Some(mut error) => {
                error["status"] = "error".into();
                error["execution_count"] = count.into();
                error
            }
        }
    }

    async fn run(&self, request: &Request, wish: &Execute, session: &Session) -> Shown {
        let (chunks, mut received) = mpsc::channel(16);
        let (stop, cancel) = oneshot::channel();
        self.stop.replace(Some(stop));
        let options = RunOptions {
            chunks: Some(chunks),
            cancel: Some(cancel),
            artifacts: Artifacts::None,
            ..RunOptions::default()
        };
        let piece = Piece { code: wish.code.clone(), ..Piece::default() };
        let (mut out, mut err) = (OutputText::default(), OutputText::default());
        let mut text = |chunk: &Chunk| match chunk.stream {
            Stream::Stdout => ("stdout", out.take(&chunk.bytes)),
            Stream::Stderr => ("stderr", err.take(&chunk.bytes)),
        };
        let forward = async {
            while let Some(chunk) = received.recv().await {
                let (name, text) = text(&chunk);
                let content = json!({ "name": name, "text": streamed(&text) });
                self.tell(Some(request), ("stream", content)).await;
            }
        };
        let (ran, ()) = tokio::join!(session.run_with(piece, options), forward);
        self.stop.take();
        let is_over = session.check().is_err();
        if is_over {
            self.session.take();
        }
        match ran {
            Ok(reply) => cell::of_reply(&reply, self.count.get()),
            Err(error) => cell::of_failure(&error, is_over),
        }
    }

    /// Names that the cells defined.
    async fn complete(&self, wish: Option<Complete>) -> Value {
        let wish = wish.unwrap_or(Complete { code: String::new(), cursor_pos: 0 });
        let before: Vec<char> = wish.code.chars().take(wish.cursor_pos).collect();
        let is_name = |char: &&char| char.is_alphanumeric() || **char == '_';
        let length = before.iter().rev().take_while(is_name).count();
        let (head, name) = before.split_at(before.len() - length);
        let mut matches = vec![];
        // An attribute is known to nobody here.
        if length > 0 && head.last() != Some(&'.') {
            let name: String = name.iter().collect();
            let session = self.session.borrow().clone();
            if let Some(session) = session {
                let told = session.variables().await.unwrap_or_default();
                let names = told.variables.into_iter().map(|variable| variable.name);
                let names = names.filter(|known| known.starts_with(&name) && is_plain_name(known));
                matches.extend(names);
            }
        }
        json!({
            "status": "ok",
            "matches": matches,
            "cursor_start": head.len(),
            "cursor_end": before.len(),
            "metadata": {},
        })
    }
}
