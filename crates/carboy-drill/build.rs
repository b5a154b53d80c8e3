//! Lists the corpus, so that the program carries it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("escapes").canonicalize()?;
    println!("cargo::rerun-if-changed={}", corpus.display());
    // One folder for each class of attack.
    let mut names: Vec<PathBuf> = Vec::new();
    for class in std::fs::read_dir(&corpus)? {
        let class = class?.path();
        if class.is_dir() {
            for entry in std::fs::read_dir(&class)? {
                names.push(entry?.path());
            }
        }
    }
    names.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    names.sort();
    let mut list = String::from("[\n");
    for path in names {
        // A String takes all that is written to it.
        writeln!(list, "    include_str!({path:?}),").map_err(std::io::Error::other)?;
    }
    list.push(']');
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("no OUT_DIR"))?;
    std::fs::write(Path::new(&out).join("corpus.rs"), list)
}
