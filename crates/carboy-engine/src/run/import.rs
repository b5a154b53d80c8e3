//! Importing in a jar what cannot be in its zygote, before its job comes.
//!
//! The jar is sealed already, so its filter announces calls, and they are answered as in a run. What
//! modules print is nobody's, and that one of them cannot be imported under these limits is no fault:
//! code that needs it hears so from its own import.

use std::time::Duration;

use carboy_protocol::{FromJar, Limits, ToJar};

use crate::error::EngineError;
use crate::facts::Ending;
use crate::run::contact::Contact;
use crate::run::watch::{PIECE, Watch, read_now};
use crate::runner::Artifacts;
use crate::tier::Jar;

/// How long modules may take to be imported.
const LONGEST: Duration = Duration::from_secs(60);

/// Imports what the jar's zygote could not. Whether the jar is still of use.
pub(crate) async fn import<J: Jar>(jar: &mut J, limits: &Limits) -> Result<bool, EngineError> {
    let message = ToJar::Import { modules: jar.late().to_vec() };
    let limits = Limits {
        wall_ms: LONGEST.as_millis() as u64,
        output_bytes: 1,
        printed_bytes: u64::MAX,
        denials: u64::MAX,
        ..limits.clone()
    };
    let contact = Contact {
        sink: None,
        cancel: None,
        tools: &[],
        host: None,
        run: "",
        artifacts: Artifacts::None,
        owed: vec![],
    };
    let ending = Watch::new(jar, message, &limits, contact)?.watch().await?;
    let mut piece = [0; PIECE];
    let io = jar.io();
    for pipe in [&io.stdout, &io.stderr] {
        while let Ok(1..) = read_now(pipe, &mut piece) {}
    }
    Ok(matches!(ending, Ending::Said(FromJar::Done(_))))
}
