//! Which subjects each role may use. Brokers refuse everything else.
//!
//! A worker listens to its own subjects alone. What it answers goes where it was asked to answer, because brokers
//! allow a reply to whoever was sent a question, and nothing else below an inbox.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::name::NodeName;

/// What a program is in the fleet. Users have no role: they speak HTTP to a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes requests and places runs.
    Gateway,
    /// Runs code, on the node of this name.
    Worker(NodeName),
    /// A person who looks and drains.
    Ops,
}

/// A role with the public half of its key.
pub struct User {
    pub public: String,
    pub role: Role,
}

/// How many messages a worker may answer one question with, and for how long: output is streamed, and the longest run
/// takes ten minutes. The broker's own bounds are 1 message and 2 minutes.
const RESPONSES: &str = "allow_responses: { max: 100000, expires: \"11m\" }";

impl Role {
    /// Everybody in a fleet of these nodes.
    pub fn all(nodes: &BTreeSet<NodeName>) -> Vec<Role> {
        let mut roles = vec![Role::Gateway, Role::Ops];
        roles.extend(nodes.iter().copied().map(Role::Worker));
        roles
    }

    /// What it is called in certificates and settings.
    pub fn name(&self) -> String {
        match self {
            Role::Gateway => "gateway".into(),
            Role::Worker(node) => format!("worker {node}"),
            Role::Ops => "ops".into(),
        }
    }

    /// Where its files are, below the folder of the fleet.
    pub fn folder(&self) -> String {
        match self {
            Role::Gateway => "gateway".into(),
            Role::Worker(node) => format!("workers/{node}"),
            Role::Ops => "ops".into(),
        }
    }

    fn publish(&self) -> Vec<String> {
        let words: &[&str] = match self {
            Role::Gateway => &[
                "cb.ghb",
                "cb.n.>",
                "cb.q.*",
                "cb.ask.>",
                "cb.stop.>",
                "cb.jobs.>",
                "cb.wake",
                // Of a job that its caller cancelled.
                "cb.res.>",
                "cb.hook.>",
                // Answers to workers. Not wherever one wants its answer: gateways may speak where workers may not.
                "_INBOX_w.>",
                // Gateways make the streams. None may remove one.
                "$JS.API.INFO",
                "$JS.API.STREAM.CREATE.CB_ASK",
                "$JS.API.STREAM.CREATE.CB_JOBS",
                "$JS.API.STREAM.CREATE.CB_RES",
                "$JS.API.STREAM.CREATE.CB_HOOK",
                "$JS.API.STREAM.CREATE.CB_DLQ",
                // What gateways have leased of exact quotas.
                "$JS.API.STREAM.CREATE.KV_CB_QUOTA",
                "$KV.CB_QUOTA.*",
                "$JS.API.STREAM.INFO.*",
                "$JS.API.STREAM.MSG.GET.*",
                // The ticket of a job that there was no room for.
                "$JS.API.STREAM.PURGE.CB_ASK",
                "$JS.API.DIRECT.GET.>",
                "$JS.API.CONSUMER.CREATE.>",
                "$JS.API.CONSUMER.DURABLE.CREATE.>",
                "$JS.API.CONSUMER.INFO.>",
                "$JS.API.CONSUMER.MSG.NEXT.CB_HOOK.*",
                "$JS.ACK.CB_HOOK.>",
            ],
            Role::Worker(_) => &[
                "cb.wake",
                "cb.res.>",
                "cb.done.>",
                "cb.hook.>",
                "cb.dlq.>",
                // Addresses for files that runs left. Gateways look at the permit that came with the run.
                "cb.sign",
                "cb.sign.*",
                // Whether a job was cancelled; not its ticket, which has the token that results are known by.
                "$JS.API.DIRECT.GET.CB_ASK.cb.stop.>",
                "$JS.API.CONSUMER.INFO.CB_JOBS.*",
                "$JS.API.CONSUMER.MSG.NEXT.CB_JOBS.*",
                "$JS.ACK.CB_JOBS.>",
            ],
            Role::Ops => &["cb.ctl.>", "$JS.API.INFO", "$JS.API.STREAM.INFO.*"],
        };
        let own = match self {
            // It speaks for no other node.
            Role::Worker(node) => Some(format!("cb.hb.{node}")),
            Role::Gateway | Role::Ops => None,
        };
        own.into_iter().chain(words.iter().map(|&word| word.into())).collect()
    }

    fn subscribe(&self) -> Vec<String> {
        let words: &[&str] = match self {
            Role::Gateway => {
                &["cb.hb.*", "cb.q.*", "cb.done.>", "cb.sign", "cb.sign.*", "cb.ghb", "_INBOX_g.>"]
            }
            Role::Worker(node) => {
                let own = [
                    format!("cb.n.{node}.>"),
                    format!("cb.ctl.{node}"),
                    format!("_INBOX_w.{node}.>"),
                ];
                let all = ["cb.ctl.all", "cb.ghb", "cb.stop.*.*", "cb.wake"];
                return own.into_iter().chain(all.map(String::from)).collect();
            }
            Role::Ops => &["cb.hb.*", "cb.ghb", "_INBOX_o.>"],
        };
        words.iter().map(|&word| word.into()).collect()
    }
}

/// A list of subjects, as the broker's settings write one.
fn list(subjects: &[impl std::fmt::Display]) -> String {
    let quoted: Vec<String> = subjects.iter().map(|subject| format!("\"{subject}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

impl User {
    /// Its lines in the settings of a broker.
    pub fn settings(&self) -> String {
        let User { public, role } = self;
        let mut text =
            format!("      # {}\n      {{ nkey: {public}, permissions: {{\n", role.name());
        // A string takes every line.
        writeln!(text, "          publish: {}", list(&role.publish())).ok();
        writeln!(text, "          subscribe: {}", list(&role.subscribe())).ok();
        if let Role::Worker(_) = role {
            writeln!(text, "          {RESPONSES}").ok();
        }
        text + "      } }\n"
    }
}
