//! What the query of a run says beside its job.

use std::time::Duration;

use carboy_protocol::ArtifactWish;

use super::problem::Problem;

/// What a query may say beside the job.
#[derive(Default)]
pub(super) struct Wishes {
    pub deadline: Option<Duration>,
    pub artifacts: ArtifactWish,
}

impl Wishes {
    pub fn of(query: &str) -> Result<Wishes, Problem> {
        let mut wishes = Wishes { artifacts: ArtifactWish::List, ..Wishes::default() };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, value) {
                ("deadline_ms", number) => {
                    let number = number.parse().map_err(|_wrong| {
                        Problem::request("deadline_ms must be a number of milliseconds")
                    })?;
                    wishes.deadline = Some(Duration::from_millis(number));
                }
                ("artifacts", "none") => wishes.artifacts = ArtifactWish::None,
                ("artifacts", "list") => wishes.artifacts = ArtifactWish::List,
                ("artifacts", "keep") => wishes.artifacts = ArtifactWish::Keep,
                _ => {
                    return Err(Problem::request("the query has a part that is not known here")
                        .hint("it may say deadline_ms=NUMBER and artifacts=none, list or keep"));
                }
            }
        }
        Ok(wishes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_only_what_is_known() {
        let wishes = Wishes::of("deadline_ms=1500&artifacts=none").expect("usable");
        assert_eq!(wishes.deadline, Some(Duration::from_millis(1500)));
        assert!(matches!(wishes.artifacts, ArtifactWish::None));
        for wrong in [
            "deadline_ms=-1",
            "deadline_ms=",
            "artifacts=all",
            "wait=1",
            "deadline_ms=99999999999999999999",
        ] {
            assert!(Wishes::of(wrong).is_err(), "{wrong}");
        }
    }
}
