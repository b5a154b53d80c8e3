//! The same way without a run: a message by the broker to another thread, and one back. It is the least that a fleet
//! adds on this machine, whatever its gateway and its workers do.

use std::io;
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;
use carboy_fleet::{Bus, NatsBus, NatsOptions, Subscription};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Where the other thread listens.
const PLACE: &str = "bench.bare";

/// About what a trivial run has on its way out, and its outcome on its way back.
const BYTES: [usize; 2] = [1024, 1536];

/// Two connections to a broker, each with a thread of its own, as processes have them.
pub struct Bare {
    runtime: Runtime,
    bus: NatsBus,
    answers: Subscription,
    end: Option<oneshot::Sender<()>>,
    other: Option<JoinHandle<io::Result<()>>>,
}

impl Bare {
    /// Connects both, and waits until they hear each other.
    pub fn start(broker: &str) -> io::Result<Bare> {
        let (end, ended) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let place = broker.to_owned();
        let other = std::thread::spawn(move || {
            runtime()?.block_on(async {
                let bus = connect(&place, "bench.other").await?;
                let asks = bus.subscribe(PLACE.into()).await.map_err(io::Error::other)?;
                bus.flush().await.map_err(io::Error::other)?;
                ready.send(()).ok();
                tokio::select! {
                    () = answer(&bus, asks) => {}
                    _ = ended => {}
                }
                Ok(())
            })
        });
        let runtime = runtime()?;
        let (bus, answers) = runtime.block_on(async {
            let bus = connect(broker, "bench.one").await?;
            let answers = bus.subscribe("bench.one.>".into()).await.map_err(io::Error::other)?;
            bus.flush().await.map_err(io::Error::other)?;
            io::Result::Ok((bus, answers))
        })?;
        // If it failed, it says so when it is asked.
        is_ready.recv().ok();
        Ok(Bare { runtime, bus, answers, end: Some(end), other: Some(other) })
    }

    /// How long there and back takes, in milliseconds.
    pub fn timed(&mut self) -> io::Result<f64> {
        let (bus, answers) = (&self.bus, &mut self.answers);
        self.runtime.block_on(async {
            let message = Bytes::from(vec![b'x'; BYTES[0]]);
            let started = Instant::now();
            bus.publish(PLACE.into(), Some("bench.one.reply".into()), message)
                .await
                .map_err(io::Error::other)?;
            match answers.next().await {
                Some(answer) if !answer.no_responders => {
                    Ok(started.elapsed().as_secs_f64() * 1000.0)
                }
                _ => Err(io::Error::other("the broker has nobody who answers")),
            }
        })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(other) = self.other.take() {
            other.join().ok();
        }
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

async fn connect(broker: &str, inbox: &str) -> io::Result<NatsBus> {
    let options = NatsOptions {
        url: broker.into(),
        name: inbox.into(),
        inbox: inbox.into(),
        ..NatsOptions::default()
    };
    NatsBus::connect(&options).await.map_err(io::Error::other)
}

async fn answer(bus: &NatsBus, mut asks: Subscription) {
    let message = Bytes::from(vec![b'x'; BYTES[1]]);
    while let Some(ask) = asks.next().await {
        if let Some(reply) = ask.reply {
            bus.publish(reply, None, message.clone()).await.ok();
        }
    }
}
