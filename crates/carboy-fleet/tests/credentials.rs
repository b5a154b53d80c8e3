//! What the credentials of `carboy fleet init` allow and refuse, asked of a real broker.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

mod broker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Event};
use broker::Broker;
use bytes::Bytes;
use carboy_fleet::jobs::{
    Ending, JobQueue, NatsJobs, NatsJobsOptions, QueueError, StreamBounds, Ticket,
};
use carboy_fleet::lease::{Leases, Ledger, NatsLedger};
use carboy_fleet::{FleetPlan, SessionKey, init};
use carboy_protocol::Job;
use futures_util::StreamExt;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longer than any machine needs: what is awaited comes at once, or never.
const SOON: Duration = Duration::from_secs(300);

/// A fleet of one broker and two nodes.
struct Fleet {
    broker: Broker,
    folder: PathBuf,
}

impl Fleet {
    fn start(name: &str) -> Option<Fleet> {
        let program = broker::program()?;
        let folder = broker::folder(name);
        let plan = FleetPlan {
            brokers: vec!["127.0.0.1".parse().unwrap()],
            nodes: ["nodeaaaa", "nodebbbb"].map(|node| node.parse().unwrap()).into(),
        };
        init(&folder, plan).unwrap();
        let broker = Broker::start(&program, &folder.join("brokers/b1"), folder.clone());
        Some(Fleet { broker, folder })
    }

    async fn connect(&self, role: &str, inbox: &str) -> Connection {
        let home = self.folder.join(role);
        let seed = std::fs::read_to_string(home.join("nkey")).unwrap();
        let started = Instant::now();
        loop {
            let (said, refusals) = mpsc::unbounded_channel();
            let connected = with_certificate(&home)
                .nkey(seed.trim().to_owned())
                .custom_inbox_prefix(inbox)
                .event_callback(move |event| {
                    let said = said.clone();
                    async move {
                        if let Event::ServerError(error) = event {
                            said.send(error.to_string()).ok();
                        }
                    }
                })
                .connect(format!("tls://{}", self.broker.place))
                .await;
            match connected {
                Ok(client) => return Connection { client, refusals },
                // On a busy machine the broker may give up on a handshake.
                Err(error) => assert!(started.elapsed() < SOON, "{error}"),
            }
        }
    }
}

fn with_certificate(home: &Path) -> ConnectOptions {
    ConnectOptions::new()
        .require_tls(true)
        .connection_timeout(SOON)
        .request_timeout(Some(SOON))
        .add_root_certificates(home.join("ca.pem"))
        .add_client_certificate(home.join("cert.pem"), home.join("key.pem"))
}

/// A client, and what the broker refused it.
struct Connection {
    client: Client,
    refusals: mpsc::UnboundedReceiver<String>,
}

impl Connection {
    async fn refusal(&mut self) -> String {
        timeout(SOON, self.refusals.recv()).await.expect("nothing was refused").unwrap()
    }

    async fn cannot_publish(&mut self, subject: &str) {
        self.client.publish(subject.to_owned(), Bytes::new()).await.unwrap();
        self.client.flush().await.unwrap();
        let refusal = self.refusal().await.to_lowercase();
        let words = format!("permissions violation for publish to \"{}\"", subject.to_lowercase());
        assert!(refusal.contains(&words), "{refusal}");
    }

    async fn cannot_subscribe(&mut self, subject: &str) {
        let messages = self.client.subscribe(subject.to_owned()).await.unwrap();
        self.client.flush().await.unwrap();
        let refusal = self.refusal().await.to_lowercase();
        let words =
            format!("permissions violation for subscription to \"{}\"", subject.to_lowercase());
        assert!(refusal.contains(&words), "{refusal}");
        drop(messages);
    }

    /// What was done until now was allowed: refusals come in the order of what they refuse.
    async fn nothing_was_refused(&mut self) {
        self.cannot_publish("nobody.may.write.here").await;
    }
}

#[tokio::test]
async fn a_worker_can_use_its_own_subjects_alone() {
    let Some(fleet) = Fleet::start("own") else { return };
    let mut worker = fleet.connect("workers/nodeaaaa", "_INBOX_w.nodeaaaa").await;
    for subject in
        ["cb.n.nodeaaaa.i1.run", "cb.n.nodeaaaa.i1.st", "cb.ctl.nodeaaaa", "cb.ctl.all", "cb.ghb"]
    {
        worker.client.subscribe(subject).await.unwrap();
    }
    for subject in ["cb.hb.nodeaaaa", "cb.res.t.r", "cb.done.g", "cb.wake", "cb.sign", "cb.sign.g"]
    {
        worker.client.publish(subject, Bytes::new()).await.unwrap();
    }
    worker.nothing_was_refused().await;
    for subject in [
        "cb.n.nodebbbb.i1.run",
        "cb.n.>",
        "cb.n.*.i1.run",
        "cb.>",
        ">",
        "cb.ctl.nodebbbb",
        "cb.ctl.*",
        "cb.hb.*",
        "cb.jobs.>",
        "cb.res.>",
        "cb.done.g",
        "cb.sign",
        "cb.sign.g",
        "_INBOX_w.nodebbbb.>",
        "_INBOX_g.>",
        "_INBOX.>",
        "$JS.EVENT.>",
        "$SYS.>",
    ] {
        worker.cannot_subscribe(subject).await;
    }
    for subject in [
        "cb.n.nodebbbb.i1.run",
        "cb.ctl.nodebbbb",
        "cb.ctl.all",
        "cb.ghb",
        "cb.hb",
        "cb.hb.nodebbbb",
        "cb.jobs.short.0.t",
        "_INBOX_g.g1.7",
        "_INBOX_w.nodebbbb.7",
        "$KV.CB_NODES.nodebbbb",
        "$JS.API.STREAM.DELETE.CB_JOBS",
        "$JS.API.STREAM.PURGE.CB_JOBS",
        "$JS.API.STREAM.CREATE.X",
        "$JS.API.CONSUMER.CREATE.CB_JOBS",
        "$JS.API.CONSUMER.DELETE.CB_JOBS.short-0",
        "$SYS.REQ.SERVER.PING",
    ] {
        worker.cannot_publish(subject).await;
    }
}

#[tokio::test]
async fn a_worker_answers_whoever_asked_it_and_nobody_else() {
    let Some(fleet) = Fleet::start("answers") else { return };
    let mut gateway = fleet.connect("gateway", "_INBOX_g.g1").await;
    let mut asked = fleet.connect("workers/nodeaaaa", "_INBOX_w.nodeaaaa").await;
    let mut other = fleet.connect("workers/nodebbbb", "_INBOX_w.nodebbbb").await;
    let mut requests = asked.client.subscribe("cb.n.nodeaaaa.i1.run").await.unwrap();
    // A flush waits for the socket, not for the broker.
    asked.nothing_was_refused().await;
    let mut answers = gateway.client.subscribe("_INBOX_g.g1.7").await.unwrap();
    gateway
        .client
        .publish_with_reply("cb.n.nodeaaaa.i1.run", "_INBOX_g.g1.7", "code".into())
        .await
        .unwrap();
    let request = timeout(SOON, requests.next()).await.unwrap().unwrap();
    let reply = request.reply.unwrap();
    other.cannot_publish(&reply).await;
    for piece in ["one", "two", "end"] {
        asked.client.publish(reply.clone(), piece.into()).await.unwrap();
    }
    for piece in ["one", "two", "end"] {
        let answer = timeout(SOON, answers.next()).await.unwrap().unwrap();
        assert_eq!(answer.payload, piece);
    }
    asked.cannot_publish("_INBOX_g.g1.8").await;
    // A node that is gone is told at once.
    let gone = gateway.client.request("cb.n.nodeaaaa.i0.run", "code".into()).await.unwrap_err();
    assert_eq!(gone.kind(), async_nats::client::RequestErrorKind::NoResponders);
    gateway.nothing_was_refused().await;
}

#[tokio::test]
async fn a_gateway_answers_a_worker_that_asks_in_its_inbox_alone() {
    let Some(fleet) = Fleet::start("asks") else { return };
    let mut gateway = fleet.connect("gateway", "_INBOX_g.g1").await;
    let mut worker = fleet.connect("workers/nodeaaaa", "_INBOX_w.nodeaaaa").await;
    let mut own = gateway.client.subscribe("cb.sign.g1").await.unwrap();
    let mut any = gateway.client.queue_subscribe("cb.sign", "sign".into()).await.unwrap();
    gateway.nothing_was_refused().await;
    for (subject, questions) in [("cb.sign.g1", &mut own), ("cb.sign", &mut any)] {
        let reply = "_INBOX_w.nodeaaaa.sign.1";
        let mut answers = worker.client.subscribe(reply).await.unwrap();
        worker.client.publish_with_reply(subject, reply, "?".into()).await.unwrap();
        let question = timeout(SOON, questions.next()).await.unwrap().unwrap();
        gateway.client.publish(question.reply.unwrap(), "!".into()).await.unwrap();
        assert_eq!(timeout(SOON, answers.next()).await.unwrap().unwrap().payload, "!");
    }
    // A worker may name any subject for its answer. That does not open it for a gateway.
    for reply in ["$JS.API.STREAM.PURGE.CB_JOBS", "$JS.API.STREAM.DELETE.CB_JOBS", "cb.ctl.all"] {
        worker.client.publish_with_reply("cb.sign.g1", reply, "?".into()).await.unwrap();
        let question = timeout(SOON, own.next()).await.unwrap().unwrap();
        gateway.cannot_publish(&question.reply.unwrap()).await;
    }
    worker.nothing_was_refused().await;
}

#[tokio::test]
async fn gateways_lease_quotas_and_workers_cannot() {
    let Some(fleet) = Fleet::start("leases") else { return };
    let mut gateway = fleet.connect("gateway", "_INBOX_g.g1").await;
    let mut worker = fleet.connect("workers/nodeaaaa", "_INBOX_w.nodeaaaa").await;
    let heard = gateway.client.subscribe("cb.ghb").await.unwrap();
    gateway.nothing_was_refused().await;
    let ledger = NatsLedger::new(&gateway.client, 1, SessionKey::random("test").unwrap());
    let started = Instant::now();
    let (leases, revision) = loop {
        match ledger.read("a.b").await {
            Ok(read) => break read,
            Err(error) => assert!(started.elapsed() < SOON, "{error}"),
        }
    };
    assert_eq!((&leases, revision), (&Some(Leases::default()), 0));
    // If it is late it may have been written.
    ledger.write("a.b", &Leases::default(), revision).await.ok();
    // A broker's answer to a worker can be sent there. It is no entry.
    let api = "$JS.API.CONSUMER.INFO.CB_JOBS.none";
    worker.client.publish_with_reply(api, "$KV.CB_QUOTA.t", Bytes::new()).await.unwrap();
    worker.nothing_was_refused().await;
    loop {
        match ledger.read("t").await {
            Ok((Some(leases), 0)) => assert_eq!(leases, Leases::default(), "not yet there"),
            Ok((entry, _)) => break assert_eq!(entry, None),
            Err(_late) => {}
        }
        assert!(started.elapsed() < SOON, "no answer came");
    }
    gateway.nothing_was_refused().await;
    gateway.cannot_publish("$JS.API.STREAM.DELETE.KV_CB_QUOTA").await;
    for subject in [
        "$KV.CB_QUOTA.t",
        "$JS.API.STREAM.CREATE.KV_CB_QUOTA",
        "$JS.API.STREAM.MSG.GET.KV_CB_QUOTA",
        "$JS.API.DIRECT.GET.KV_CB_QUOTA.$KV.CB_QUOTA.t",
    ] {
        worker.cannot_publish(subject).await;
    }
    drop(heard);
}

#[tokio::test]
async fn jobs_pass_from_gateway_to_worker_and_nobody_can_remove_them() {
    let Some(fleet) = Fleet::start("jobs") else { return };
    let mut gateway = fleet.connect("gateway", "_INBOX_g.g1").await;
    let mut worker = fleet.connect("workers/nodeaaaa", "_INBOX_w.nodeaaaa").await;
    let bounds = StreamBounds { bytes: 16 << 20, ..StreamBounds::default() };
    let options = NatsJobsOptions { gateway: "g1".into(), bounds, ..NatsJobsOptions::default() };
    let asking = NatsJobs::new(gateway.client.clone(), options.clone(), 7);
    let working = NatsJobs::new(worker.client.clone(), options, 8);
    let attending = [
        tokio::spawn(asking.clone().attend_gateway()),
        tokio::spawn(working.clone().attend_worker()),
    ];
    insist(|| asking.prepare()).await;

    let ticket = |id: &str| Ticket::new(id.into(), "t".into(), "digest".into(), None).unwrap();
    let [done, stopped] = [ticket("done"), ticket("stopped")];
    for ticket in [&done, &stopped] {
        insist(|| asking.publish(ticket.clone(), Job::new("code"))).await;
    }
    insist(|| asking.cancel(&stopped)).await;
    let mut met = BTreeSet::new();
    while met.len() < 2 {
        for claim in insist(|| working.claim(2)).await {
            let order = &claim.order;
            assert_eq!(insist(|| working.is_cancelled(order)).await, order.id == "stopped");
            insist(|| working.extend(&claim.lease)).await;
            let ended = order.ended(Ending::Outcome(to_raw_value("42").unwrap()));
            insist(|| working.store(order, &ended)).await;
            insist(|| working.bury(order)).await;
            met.insert(order.id.clone());
            // If it is late the order comes again.
            working.done(claim.lease).await.ok();
        }
    }
    let result = insist(|| asking.result(&done)).await.unwrap();
    assert!(matches!(result.ending, Ending::Outcome(_)));
    let result = insist(|| asking.result(&stopped)).await.unwrap();
    assert!(matches!(result.ending, Ending::Cancelled));
    assert_eq!(insist(|| asking.list("t", 9)).await.len(), 2);
    assert_eq!(insist(|| asking.dead_letters("t")).await.len(), 2);
    for task in attending {
        task.abort();
    }

    // Nothing of that was refused, and this is.
    for subject in [
        "$JS.API.STREAM.DELETE.CB_RES",
        "$JS.API.STREAM.MSG.DELETE.CB_RES",
        "$JS.API.STREAM.PURGE.CB_JOBS",
        "$JS.API.STREAM.MSG.GET.CB_ASK",
        "$JS.API.DIRECT.GET.CB_ASK.cb.ask.t.done",
        "cb.ask.t.other",
        "cb.stop.t.done",
    ] {
        worker.cannot_publish(subject).await;
    }
    for subject in [
        "$JS.API.STREAM.DELETE.CB_JOBS",
        "$JS.API.STREAM.PURGE.CB_JOBS",
        "$JS.API.STREAM.CREATE.X",
        "$JS.API.CONSUMER.DELETE.CB_JOBS.short-0",
    ] {
        gateway.cannot_publish(subject).await;
    }
}

/// Does it again while the broker does not answer in time, as it may on a busy machine.
async fn insist<T, F: Future<Output = Result<T, QueueError>>>(mut attempt: impl FnMut() -> F) -> T {
    let started = Instant::now();
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) => assert!(started.elapsed() < SOON, "{error}"),
        }
    }
}

#[tokio::test]
async fn nobody_comes_in_without_both_certificate_and_key() {
    let Some(fleet) = Fleet::start("door") else { return };
    let place = format!("tls://{}", fleet.broker.place);
    let home = fleet.folder.join("workers/nodeaaaa");
    let seed = std::fs::read_to_string(home.join("nkey")).unwrap().trim().to_owned();
    let unidentified = ConnectOptions::new()
        .require_tls(true)
        .add_root_certificates(home.join("ca.pem"))
        .nkey(seed)
        .connect(&place)
        .await;
    assert!(unidentified.is_err());
    assert!(with_certificate(&home).connect(&place).await.is_err());
    let stranger = nkeys::KeyPair::new_user().seed().unwrap();
    assert!(with_certificate(&home).nkey(stranger).connect(&place).await.is_err());
    // The same with both, so that what was refused was refused for what it lacked.
    fleet.connect("workers/nodeaaaa", "_INBOX_w.nodeaaaa").await.nothing_was_refused().await;
}
