//! A session and its branches, by the names that whoever sits before them gave.

use std::collections::BTreeMap;

use carboy_engine::{RequestError, RunError, Session};
use carboy_protocol::SessionAnswer;

use super::ask::Ask;

/// The name of what was opened first.
pub const FIRST: &str = "main";

/// A session, its branches, and the one that is worked in.
pub struct Branches {
    all: BTreeMap<String, Session>,
    current: String,
}

impl Branches {
    /// A session without branches.
    pub fn new(session: Session) -> Branches {
        Branches { all: BTreeMap::from([(FIRST.into(), session)]), current: FIRST.into() }
    }

    /// The name of the one that is worked in.
    pub fn current(&self) -> &str {
        &self.current
    }

    /// The names of all.
    pub fn names(&self) -> Vec<&str> {
        self.all.keys().map(String::as_str).collect()
    }

    /// The one that is worked in.
    pub fn session(&self) -> Result<&Session, RunError> {
        self.named(&self.current)
    }

    fn named(&self, name: &str) -> Result<&Session, RunError> {
        self.all.get(name).ok_or_else(|| refused(format!("there is no branch `{name}`")))
    }

    /// Does what is asked, but for what is about runs.
    pub async fn ask(&mut self, ask: Ask) -> Result<SessionAnswer, RunError> {
        match ask {
            Ask::Run(_) | Ask::Interrupt {} => {}
            Ask::Branch { name } => {
                if !self.all.contains_key(&name) {
                    let branch = self.session()?.branch().await?;
                    self.all.insert(name.clone(), branch);
                }
                self.current = name;
            }
            Ask::Close { name } if name == FIRST => {
                return Err(refused(format!(
                    "`{FIRST}` ends with all of its branches, at the end"
                )));
            }
            Ask::Close { name } => {
                self.named(&name)?.close().await;
                self.all.remove(&name);
                if self.current == name {
                    self.current = FIRST.into();
                }
            }
            Ask::Checkpoint { name } => self.session()?.checkpoint(&name).await?,
            Ask::Rollback { name } => self.session()?.rollback(&name).await?,
            Ask::Drop { name } => self.session()?.drop_checkpoint(&name).await?,
            Ask::Checkpoints {} => {
                let names = self.session()?.checkpoints().await?;
                return Ok(SessionAnswer::Checkpoints { names });
            }
            Ask::Variables {} => {
                return self.session()?.variables().await.map(SessionAnswer::Variables);
            }
        }
        Ok(SessionAnswer::Done {})
    }

    /// Ends all of it, and waits until nothing is left.
    pub async fn close(self) {
        if let Some(first) = self.all.get(FIRST) {
            first.close().await;
        }
    }
}

fn refused(why: String) -> RunError {
    RunError::Request(RequestError::Session { why })
}
