//! Work that may take long, on a thread where nobody waits for it but who asked.

use std::panic::resume_unwind;

/// Does the work on another thread. A panic there is one here; nothing comes back only if the runtime is
/// ending, and then nobody hears of it any more.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) => error.try_into_panic().map_or(None, |panic| resume_unwind(panic)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_done_elsewhere_comes_back_and_so_does_a_panic() {
        assert_eq!(elsewhere(|| 7).await, Some(7));
        let panicked = tokio::spawn(elsewhere(|| panic!("a fault"))).await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
    }
}
