//! Messages as lines: one JSON object each.

use std::io;

use carboy_protocol::pipe::FromEngine;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::line;

/// Writes answers until nobody is left to send one, or to read them.
pub(super) async fn write(
    mut answers: mpsc::Receiver<FromEngine>,
    mut out: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut lines = Vec::new();
    while let Some(first) = answers.recv().await {
        lines.clear();
        append_line(&mut lines, &first)?;
        // What has come meanwhile goes with it.
        while let Ok(next) = answers.try_recv() {
            append_line(&mut lines, &next)?;
        }
        out.write_all(&lines).await?;
        out.flush().await?;
    }
    Ok(())
}

/// Adds a message as one line.
pub fn append_line(lines: &mut Vec<u8>, message: &FromEngine) -> io::Result<()> {
    line::append(lines, message)?;
    lines.push(b'\n');
    Ok(())
}
