//! Files of this host that have no name: nothing is left of them when nobody has them open any more.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use carboy_engine::new_id;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// How much is copied at once.
const PIECE: usize = 64 << 10;

/// A file that has no name, in the temporary directory.
pub fn unnamed_file() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match open(&folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        // Some file systems cannot do that.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let name = new_id().map_err(io::Error::other)?;
            let path = folder.join(format!("carboy-files-{name}"));
            let file = open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            std::fs::remove_file(&path)?;
            Ok(file.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes exactly so many bytes into a file, at this place.
pub fn copy_exactly(content: &mut dyn Read, to: &File, mut at: u64, bytes: u64) -> io::Result<()> {
    let end = at + bytes;
    let mut piece = vec![0; PIECE.min(usize::try_from(bytes).unwrap_or(PIECE))];
    while at < end {
        let most = piece.len().min(usize::try_from(end - at).unwrap_or(PIECE));
        match content.read(&mut piece[..most]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                to.write_all_at(&piece[..count], at)?;
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
