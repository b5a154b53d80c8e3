//! A message as one line of JSON, whatever a guest put into its result.

use std::borrow::Cow;
use std::io;

use carboy_protocol::visible_json;
use serde::Serialize;

/// Appends a message, without a line end.
pub(crate) fn append(lines: &mut Vec<u8>, message: &impl Serialize) -> io::Result<()> {
    let start = lines.len();
    serde_json::to_writer(&mut *lines, message)?;
    // Whoever looks at it on a terminal is not steered by what a jar wrote.
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
    Ok(())
}
