//! What a node gets addresses for, and what a node that was taken over does not.

use carboy_protocol::Artifact;
use carboy_store::{Bucket, BucketConfig, RunFiles};

use super::super::FilesConfig;
use super::*;
use crate::files::SIGN;
use crate::name::{GATEWAYS, NodeName, Start, node_inbox};
use crate::{Gateway, GatewayConfig, LocalBus, SessionKey};

const NODE: Address = Address { node: 1, incarnation: 2 };

/// A gateway whose store is away: whoever may put something there is told to ask later.
struct World {
    gateway: Gateway<LocalBus>,
    key: SessionKey,
    node: LocalBus,
}

impl World {
    async fn new() -> World {
        let [bucket, region, key_id, secret] = ["b", "r", "id", "secret"].map(String::from);
        let endpoint = "http://127.0.0.1:1".into();
        let bucket = BucketConfig { endpoint, bucket, region, key_id, secret };
        let store = RunFiles::new(Bucket::new(bucket).expect("a bucket"));
        let tenants = [("acme".to_owned(), 100), ("other".to_owned(), 100)].into();
        let key = SessionKey::random("test").expect("a key");
        let config = GatewayConfig {
            session_key: Some(key.clone()),
            files: Some(FilesConfig { store, tenants }),
            ..GatewayConfig::new(Start(7))
        };
        let bus = LocalBus::new("_INBOX_g.one");
        let node = bus.connect(&node_inbox(NodeName(NODE.node)));
        World { gateway: Gateway::start(bus, config).await.expect("a gateway"), key, node }
    }

    /// What a node asks that another gateway gave this run to.
    fn ask(&self, run: &str) -> SignAsk {
        let given = Given { tenant: "acme", run, gateway: "another", address: NODE };
        SignAsk {
            v: VERSION,
            run: run.into(),
            tenant: "acme".into(),
            gateway: "another".into(),
            address: NODE,
            permit: given.permit(&self.key, 10, Duration::ZERO),
            number: 0,
        }
    }

    fn reply(&self) -> String {
        format!("{}.sign.1", self.node.inbox())
    }

    async fn ask_at(&self, reply: &str, ask: &SignAsk, files: &[Artifact]) {
        let question = written(ask, &serde_json::to_vec(files).expect("JSON"));
        self.node.publish(SIGN.into(), Some(reply.into()), question).await.expect("published");
    }

    async fn answer(&self, ask: &SignAsk, files: &[Artifact]) -> SignAnswer {
        let mut answers = self.node.subscribe(self.reply()).await.expect("subscribed");
        self.ask_at(&self.reply(), ask, files).await;
        let answer = answers.next().await.expect("an answer");
        read(&answer.payload).expect("an answer").0
    }

    /// Whether nothing is said of a question, there or anywhere.
    async fn is_silent(&self, reply: &str, ask: &SignAsk) -> bool {
        let mut all = self.node.subscribe(">".into()).await.expect("subscribed");
        let files = [file("a", 10)];
        self.ask_at(reply, ask, &files).await;
        // What is asked after it is answered after it.
        let last = format!("{}.sign.last", self.node.inbox());
        self.ask_at(&last, &self.ask("0a"), &files).await;
        loop {
            match all.next().await.expect("an answer").subject {
                subject if subject == last => return true,
                subject if subject.starts_with("cb.") => {}
                _answer => return false,
            }
        }
    }

    async fn is_refused(&self, ask: &SignAsk, files: &[Artifact]) -> bool {
        matches!(self.answer(ask, files).await, SignAnswer::Refused { .. })
    }
}

fn file(path: &str, bytes: u64) -> Artifact {
    let sha256 = Some("0a".repeat(32));
    Artifact { path: path.into(), bytes, sha256, media_type: None }
}

#[tokio::test]
async fn a_node_gets_addresses_for_the_files_of_its_own_run_alone() {
    let world = World::new().await;
    let own = world.ask("0a");
    // Another gateway of the cell vouches for it.
    assert_eq!(world.answer(&own, &[file("a", 10)]).await, SignAnswer::Later {});
    for (what, wrong) in [
        ("another run", SignAsk { run: "0b".into(), ..own.clone() }),
        ("another tenant", SignAsk { tenant: "other".into(), ..own.clone() }),
        ("another node", SignAsk { address: Address { node: 2, ..NODE }, ..own.clone() }),
        ("another gateway", SignAsk { gateway: "third".into(), ..own.clone() }),
        (
            "more bytes",
            SignAsk { permit: Permit { bytes: 11, ..own.permit.clone() }, ..own.clone() },
        ),
    ] {
        assert!(world.is_silent(&world.reply(), &wrong).await, "{what}");
    }
    let no_such = SignAsk { number: 1, ..own.clone() };
    assert!(world.is_refused(&no_such, &[file("a", 10)]).await);
    for wrong in [file("a", 11), file("../0b/a", 1), file("..", 1), file("/a", 1), file("a/./b", 1)]
    {
        assert!(world.is_refused(&own, std::slice::from_ref(&wrong)).await, "{wrong:?}");
    }
    let many: Vec<_> = (0..3000).map(|number| file(&format!("{number:0>64}"), 0)).collect();
    assert!(world.is_refused(&own, &many).await, "a list that is too long");
}

#[tokio::test]
async fn only_the_node_whose_outcome_counts_brings_its_files() {
    let world = World::new().await;
    let gateway = Start(7).to_string();
    let given = Given { tenant: "acme", run: "0a", gateway: &gateway, address: NODE };
    let permit = given.permit(&world.key, 10, Duration::ZERO);
    let ask = SignAsk { gateway: gateway.clone(), permit, ..world.ask("0a") };
    let files = [file("a", 1)];
    let shared = &world.gateway.shared;
    let claim = shared.claim("0a").expect("a claim");
    assert_eq!(world.answer(&ask, &files).await, SignAnswer::Later {}, "it is under way");
    claim.won(Address { node: 2, ..NODE });
    assert!(world.is_refused(&ask, &files).await);
    shared.claim("0a").expect("a claim").won(NODE);
    // Only the store is missing now.
    assert_eq!(world.answer(&ask, &files).await, SignAnswer::Later {});
    drop(shared.claim("0a"));
    assert!(shared.signing.as_ref().is_some_and(|signing| signing.winner("0a").is_none()));
}

#[tokio::test]
async fn a_gateway_speaks_nowhere_but_in_the_inbox_of_the_node_that_asks() {
    let world = World::new().await;
    let own = world.ask("0a");
    assert!(!world.is_silent(&world.reply(), &own).await);
    let other = node_inbox(NodeName(2)) + ".sign.1";
    for reply in ["$JS.API.STREAM.PURGE.CB_JOBS", "$KV.CB_QUOTA.acme", "cb_x", &other] {
        assert!(world.is_silent(reply, &own).await, "{reply}");
    }
}

#[tokio::test]
async fn one_node_cannot_have_all_places() {
    let world = World::new().await;
    let signing = world.gateway.shared.signing.as_ref().expect("a store");
    let mut taken: Vec<_> = std::iter::from_fn(|| signing.place(NODE.node)).collect();
    // It is told so at once.
    assert_eq!(world.answer(&world.ask("0a"), &[file("../a", 1)]).await, SignAnswer::Later {});
    let own = taken.len();
    taken.extend((2..).map_while(|node| signing.place(node)));
    assert!(taken.len() >= own * 4, "{own} of {}", taken.len());
    drop(taken);
    assert!(world.is_refused(&world.ask("0a"), &[file("../a", 1)]).await);
}

#[tokio::test]
async fn a_gateway_that_is_there_answers_for_its_own_runs() {
    let world = World::new().await;
    let signing = world.gateway.shared.signing.as_ref().expect("a store");
    let (ask, files) = (world.ask("0a"), [file("../a", 1)]);
    assert!(world.is_refused(&ask, &files).await, "it is looked at");
    let beat = GatewayBeat { gateway: "another".into(), ..world.gateway.beat() };
    world.node.publish(GATEWAYS.into(), None, written(&beat, &[])).await.expect("published");
    // What was sent first is heard first, but by another task.
    while !signing.is_there("another", world.gateway.shared.config.clock.now()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.answer(&ask, &files).await, SignAnswer::Later {});
    let later = world.gateway.shared.config.clock.now() + Duration::from_secs(3);
    assert!(!signing.is_there("another", later), "it is gone");
}
