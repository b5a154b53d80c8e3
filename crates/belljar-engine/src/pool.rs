//! Where jars come from.
//!
//! One zygote stands for each kind of walls, started when first needed and replaced when it is
//! gone. So far no jar stands ready: each is forked when it is asked for.

use std::collections::HashMap;
use std::sync::Arc;

use belljar_protocol::{Policy, Walls};
use tokio::sync::Mutex;

use crate::error::While;
use crate::jar::Jar;
use crate::planning::{self, Setting};
use crate::scratch::Scratch;
use crate::zygote::Zygote;
use crate::{EngineError, engine::new_id};

#[derive(Default)]
pub(crate) struct Pool {
    zygotes: Mutex<HashMap<Walls, Arc<Zygote>>>,
}

impl Pool {
    /// A sealed jar for this policy.
    pub async fn take(&self, setting: Setting<'_>, policy: &Policy) -> Result<Jar, EngineError> {
        let identity = setting.host.identity(policy.walls);
        let zygote = self.zygote(setting, policy.walls).await?;
        let scratch = match &zygote.folder {
            None => None,
            Some(folder) => Some(
                Scratch::make(folder.join(new_id()?), &identity)
                    .while_doing("make a private directory")?,
            ),
        };
        let place = match &scratch {
            Some(scratch) => scratch.path(),
            None => &zygote.temporary,
        };
        let plan = planning::jar(policy, place, zygote.baseline);
        let forked = zygote.fork(plan).await?;
        Jar::sealed(forked, &zygote, policy.walls, identity.outer_uid, scratch).await
    }

    /// The zygote for these walls, started if there is none.
    pub async fn zygote(
        &self,
        setting: Setting<'_>,
        walls: Walls,
    ) -> Result<Arc<Zygote>, EngineError> {
        let mut zygotes = self.zygotes.lock().await;
        if let Some(zygote) = zygotes.get(&walls).filter(|zygote| zygote.is_alive()) {
            return Ok(zygote.clone());
        }
        let zygote = Arc::new(Zygote::start(setting, walls).await?);
        zygotes.insert(walls, zygote.clone());
        Ok(zygote)
    }

    /// Ends every zygote and waits for it.
    pub async fn shutdown(&self) {
        for (_, zygote) in self.zygotes.lock().await.drain() {
            zygote.shutdown().await;
        }
    }
}
