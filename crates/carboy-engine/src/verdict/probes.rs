//! Dividing what was refused into what may have to do with how a run ended, and what it got over.

use std::collections::BTreeMap;
use std::time::Duration;

use carboy_protocol::{Denial, GuestError, Kind, Layer, LimitName};

use crate::facts::Tried;

/// The denials, and the probes.
///
/// A run that ended well got over all that it was refused. One whose time ran out got over what it was
/// refused long before and never tried again: a library's search for fonts at the beginning is not why a
/// loop did not end. What it kept trying may be. After any other end nobody can tell.
pub(crate) fn divide(
    tried: BTreeMap<&'static str, Tried>,
    error: Option<&GuestError>,
    wall: Duration,
) -> (Vec<Denial>, Vec<Denial>) {
    let out_of_time = error.is_some_and(|error| {
        let name = error.limit.as_ref().map(|limit| limit.name);
        error.kind == Kind::Cancelled || matches!(name, Some(LimitName::WallMs | LimitName::CpuMs))
    });
    let got_over = |tried: &Tried| error.is_none() || (out_of_time && tried.last < wall / 2);
    let (probes, denials): (Vec<_>, Vec<_>) =
        tried.into_iter().partition(|(_, tried)| got_over(tried));
    (named(denials), named(probes))
}

fn named(tried: Vec<(&'static str, Tried)>) -> Vec<Denial> {
    let denial = |(what, tried): (&str, Tried)| Denial {
        layer: Layer::Seccomp,
        what: what.to_owned(),
        count: tried.count,
        line: None,
        hint: tried.hint,
        message: None,
        instead: None,
    };
    tried.into_iter().map(denial).collect()
}
