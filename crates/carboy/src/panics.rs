//! A fault of this program itself: told in one line, and never a reason to wait.
//!
//! The standard hook writes to standard error and waits as long as that is full. An engine whose
//! caller does not read would stand still in it, with every run of every other caller.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::failure::Failure;
use crate::guest_text::visible;

/// How long a reader of standard error may take.
const PATIENCE: Duration = Duration::from_millis(200);

/// From here on a panic is told on standard error, if somebody reads it.
pub fn tell_without_waiting() {
    set_hook(Box::new(|info| {
        write_within(std::io::stderr(), words(info), PATIENCE);
    }));
}

/// Runs `work` to its end; a panic in it is a failure like others.
pub fn block_on<T>(
    runtime: Runtime,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let done = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
    if done.is_err() {
        // A thread that waits for somebody must not hold up the end.
        runtime.shutdown_background();
    }
    done.unwrap_or(Err(Failure::Panic))
}

fn words(info: &PanicHookInfo<'_>) -> String {
    // A message may quote what guest code said.
    let message = visible(info.payload_as_str().unwrap_or("no words"));
    let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let backtrace = Backtrace::capture();
    let mut words = format!("panic{place}: {message}\n");
    if backtrace.status() == BacktraceStatus::Captured {
        words.push_str(&format!("{backtrace}\n"));
    }
    words
}

/// Writes `text` in a thread of its own, and goes on without it after `patience`. Whether it was
/// written in time.
fn write_within(mut to: impl Write + Send + 'static, text: String, patience: Duration) -> bool {
    let (done, written) = mpsc::channel();
    let writer = std::thread::Builder::new().spawn(move || {
        let whole = to.write_all(text.as_bytes()).is_ok();
        // Whoever waited may have gone on.
        done.send(whole).ok();
    });
    writer.is_ok() && written.recv_timeout(patience).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_full_pipe_holds_nobody_up() {
        let (mut read, write) = std::io::pipe().unwrap();
        let text = "x".repeat(1 << 20);
        let started = std::time::Instant::now();
        assert!(!write_within(write, text, Duration::from_millis(10)));
        assert!(started.elapsed() < Duration::from_secs(5));
        read.read_exact(&mut vec![0; 1 << 20]).unwrap();
    }

    #[test]
    fn whoever_reads_gets_it_all() {
        let (mut read, write) = std::io::pipe().unwrap();
        assert!(write_within(write, "said".into(), Duration::from_secs(60)));
        let mut said = String::new();
        read.read_to_string(&mut said).unwrap();
        assert_eq!(said, "said");
    }

    #[test]
    fn a_panic_is_a_failure_of_the_engine() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let done = block_on::<()>(runtime, async { panic!("a fault") });
        assert!(matches!(done, Err(Failure::Panic)));
    }
}
