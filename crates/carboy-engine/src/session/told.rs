//! What is told of a session beside outcomes, and in how many words.

use carboy_protocol::{Denial, Layer, Variables};

/// The longest name of a checkpoint, in bytes.
pub(super) const MAX_NAME: usize = 100;
/// How many variables are told.
pub(super) const MAX_VARIABLES: u64 = 1_000;

/// What the code says that it has defined, in no more words than are promised.
pub(super) fn bounded(mut told: Variables) -> Variables {
    let most = usize::try_from(MAX_VARIABLES).unwrap_or(usize::MAX);
    let beyond = told.variables.len().saturating_sub(most) as u64;
    told.variables.truncate(most);
    told.more = told.more.saturating_add(beyond);
    for variable in &mut told.variables {
        for text in [&mut variable.name, &mut variable.type_name] {
            if let Some((end, _)) = text.char_indices().nth(MAX_NAME) {
                text.truncate(end);
            }
        }
    }
    told
}

/// Calls that heads made while they were only to be copied.
pub(super) fn strays(count: u64) -> Option<Denial> {
    (count > 0).then(|| Denial {
        layer: Layer::Seccomp,
        what: "session".into(),
        count,
        line: None,
        hint: "a session that is being copied makes no calls of its own; start nothing in hooks of a fork"
            .into(),
        message: None,
        instead: None,
    })
}
