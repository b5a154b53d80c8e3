//! What is written of a job: its ticket, the order for a worker, and its end.

use std::time::SystemTime;

use carboy_engine::{EngineError, new_id};
use carboy_protocol::Job;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{KEPT, MAX_DELIVERIES};

/// The version of what is written here. Fields that are not known are left alone, so that versions can be mixed.
const VERSION: u32 = 1;

/// What a gateway keeps of a job that it accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ticket {
    /// The version of its form.
    pub version: u32,
    /// The id of the job: 32 hexadecimal digits.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// What a result must carry.
    pub token: String,
    /// Of the request. A second one with the same id and another digest is refused.
    pub digest: String,
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: u64,
    /// Where its end is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
}

impl Ticket {
    /// A ticket with a new token.
    pub fn new(
        id: String,
        tenant: String,
        digest: String,
        webhook: Option<String>,
    ) -> Result<Ticket, EngineError> {
        let token = new_id()?;
        let accepted_ms = now_ms();
        Ok(Ticket { version: VERSION, id, tenant, token, digest, accepted_ms, webhook })
    }

    /// Whether a result is this job's, and not one that somebody made up.
    pub fn takes(&self, ended: &Ended) -> bool {
        // The token is not compared in constant time: whoever tries must write to the store for each guess.
        self.id == ended.id && self.tenant == ended.tenant && self.token == ended.token
    }

    /// Whether it cannot have ended with a result that is still kept, nor wait any more.
    pub fn is_over_age(&self) -> bool {
        let age = now_ms().saturating_sub(self.accepted_ms);
        u128::from(age) > KEPT.as_millis()
    }

    /// What a mark that ends it says.
    pub(super) fn stop_mark(&self) -> String {
        stop_mark(&self.id, &self.token)
    }

    /// What a worker is told of it. `gateway` hears of its end.
    pub fn order(&self, gateway: String, job: Job) -> Order {
        Order {
            version: VERSION,
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            token: self.token.clone(),
            gateway,
            notify: self.webhook.is_some(),
            job,
        }
    }

    /// An end that this job takes.
    pub fn ended(&self, ending: Ending) -> Ended {
        Ended::now(&self.id, &self.tenant, &self.token, ending)
    }
}

/// A job on its way to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The version of its form.
    pub version: u32,
    /// The id of the job, and of its run.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// What its result must carry.
    pub token: String,
    /// Which gateway hears of its end at once.
    pub gateway: String,
    /// Whether its end is told to a webhook.
    #[serde(default)]
    pub notify: bool,
    /// What to run.
    pub job: Job,
}

impl Order {
    /// What a mark that ends it says.
    pub(super) fn stop_mark(&self) -> String {
        stop_mark(&self.id, &self.token)
    }

    /// What came of it.
    pub fn ended(&self, ending: Ending) -> Ended {
        Ended::now(&self.id, &self.tenant, &self.token, ending)
    }
}

/// The end of a job, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// The version of its form.
    pub version: u32,
    /// The id of the job.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// The job's token.
    pub token: String,
    /// When, in milliseconds since 1970.
    pub ended_ms: u64,
    /// How.
    pub ending: Ending,
}

impl Ended {
    /// A job that ends now.
    fn now(id: &str, tenant: &str, token: &str, ending: Ending) -> Ended {
        Ended {
            version: VERSION,
            id: id.into(),
            tenant: tenant.into(),
            token: token.into(),
            ended_ms: now_ms(),
            ending,
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With an outcome, whatever the code did.
    Outcome(Box<RawValue>),
    /// Without one.
    Failed(Failed),
    /// Its caller ended it.
    Cancelled,
}

/// Why a job has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// A stable word for programs: `request`, `gave_up`, `too_long` or `untrusted_result`.
    pub code: String,
    /// A sentence.
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failed {
    /// It was delivered as often as it may be, and nobody stored a result.
    pub fn gave_up() -> Failed {
        Failed {
            code: "gave_up".into(),
            detail: format!("{MAX_DELIVERIES} workers in turn took this job and told no result"),
            hint: Some(
                "the job may have ended its workers, or they were all stopped; the operator finds it among the \
                 dead letters"
                    .into(),
            ),
        }
    }
}

/// Every worker sees it, and only who knows the token can make it. It does not tell the token.
fn stop_mark(id: &str, token: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(format!("stop {id} {token}")).into();
    digest.iter().fold(format!("{id} "), |mark, byte| mark + &format!("{byte:02x}"))
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
