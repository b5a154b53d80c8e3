//! Messages as lines: one JSON object each, whatever a guest put into its result.

use std::borrow::Cow;
use std::io;

use carboy_protocol::pipe::FromEngine;
use carboy_protocol::visible_json;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// Writes answers until nobody is left to send one, or to read them.
pub(super) async fn write(
    mut answers: mpsc::Receiver<FromEngine>,
    mut out: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut lines = Vec::new();
    while let Some(first) = answers.recv().await {
        lines.clear();
        append(&mut lines, &first)?;
        // What has come meanwhile goes with it.
        while let Ok(next) = answers.try_recv() {
            append(&mut lines, &next)?;
        }
        out.write_all(&lines).await?;
        out.flush().await?;
    }
    Ok(())
}

fn append(lines: &mut Vec<u8>, message: &FromEngine) -> io::Result<()> {
    let start = lines.len();
    serde_json::to_writer(&mut *lines, message)?;
    // Whoever looks at the pipe on a terminal is not steered by what a jar wrote.
    let line = std::str::from_utf8(&lines[start..]).map_err(io::Error::other)?;
    if let Cow::Owned(shown) = visible_json(line) {
        lines.truncate(start);
        lines.extend_from_slice(shown.as_bytes());
    }
    // A result is the jar's own JSON, with whatever stands between its values. A line end in there
    // would begin a message that the jar wrote.
    for byte in &mut lines[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    lines.push(b'\n');
    Ok(())
}
