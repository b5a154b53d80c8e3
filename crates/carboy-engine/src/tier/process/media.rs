//! What a file is, by its first bytes.
//!
//! @table
//!
//! The name only chooses among types that have one form, such as the kinds of ZIP archives and of plain
//! text. Nothing becomes a type that a browser would run: HTML, SVG, XML and scripts are `text/plain`.

/// How many bytes at the beginning of a file are looked at.
pub(super) const HEAD: usize = 4096;

/// Where a form begins, with what, and what it is.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"ARROW1\0\0", "application/vnd.apache.arrow.file"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "application/ogg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
];

const ZIP: &str = "application/zip";
const TEXT: &str = "text/plain";

/// What a form is called by the end of a file's name.
const NAMED: &[(&str, &str, &str)] = &[
    (ZIP, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (ZIP, "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (ZIP, "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (TEXT, "csv", "text/csv"),
    (TEXT, "tsv", "text/tab-separated-values"),
    (TEXT, "json", "application/json"),
    (TEXT, "jsonl", "application/jsonl"),
    (TEXT, "md", "text/markdown"),
];

/// The media type of a file of this name whose content begins like this.
pub(super) fn media_type(name: &str, head: &[u8]) -> &'static str {
    let begins = |(at, bytes, _): &&(usize, &[u8], &str)| {
        head.get(*at..).is_some_and(|rest| rest.starts_with(bytes))
    };
    let form = match MAGIC.iter().find(begins) {
        Some((_, _, form)) => form,
        None if is_text(head) => TEXT,
        None => "application/octet-stream",
    };
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    let named = NAMED.iter().find(|(of, ends, _)| *of == form && *ends == end);
    named.map_or(form, |(_, _, named)| named)
}

/// Whether it is UTF-8 without controls, as far as it is there. Its last character may be cut.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or("")
        }
        Err(_) => return false,
    };
    text.chars().all(|char| !char.is_control() || matches!(char, '\n' | '\r' | '\t' | '\u{c}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_comes_from_the_content_and_a_name_cannot_make_it_run() {
        for (name, head, expected) in [
            ("a.txt", b"\x89PNG\r\n\x1a\nrest".as_slice(), "image/png"),
            ("a.png", b"plain words\n", "text/plain"),
            ("a.html", b"<!doctype html><script>", "text/plain"),
            ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'>", "text/plain"),
            ("a.js", b"alert(1)", "text/plain"),
            ("a.CSV", b"a,b\n1,2\n", "text/csv"),
            ("a.csv", b"a,b\n1,\0\n", "application/octet-stream"),
            ("sheet.xlsx", b"PK\x03\x04....", NAMED[0].2),
            ("sheet.xlsx", b"words", "text/plain"),
            ("a.json", b"{\"a\": 1}", "application/json"),
            ("b", b"RIFF....WEBPVP8 ", "image/webp"),
            ("b", b"\xff\xfe\0", "application/octet-stream"),
            ("empty", b"", "text/plain"),
        ] {
            assert_eq!(media_type(name, head), expected, "{name}");
        }
        let cut = "\u{20ac}".as_bytes();
        assert_eq!(media_type("a", &cut[..2]), "text/plain");
    }
}
