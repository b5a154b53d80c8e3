//! Files of runs in a bucket of a real store: rclone's `serve s3`, on a port of the loopback interface.
//!
//! What a store is asked to refuse, it must refuse: that is what keeps a worker that was taken over to its own files.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use carboy_protocol::Artifact;
use carboy_store::{Bucket, BucketConfig, Manifest, RunFiles, Uploader, unnamed_file};

/// A store, and the folder that holds its buckets.
struct Store {
    child: Child,
    folder: PathBuf,
    endpoint: String,
}

/// The program: what the environment names, or what `tests/rclone` has or gets.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CARBOY_TEST_RCLONE") {
        return Some(named.into());
    }
    let said = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/rclone")).output();
    let path = said.ok().map(|said| String::from_utf8(said.stdout).unwrap().trim().to_owned());
    path.filter(|path| !path.is_empty()).map(PathBuf::from)
}

impl Store {
    fn start(name: &str) -> Option<Store> {
        let Some(program) = program() else {
            println!("SKIPPED: tests/rclone has no rclone");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("carboy-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("bucket")).unwrap();
        // It must not outlive a test that is killed.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args([
                "serve",
                "s3",
                "--addr",
                "127.0.0.1:0",
                "--auth-key",
                "carboyid,carboysecret",
                "-v",
            ])
            .arg(&folder)
            .env("HOME", &folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let endpoint = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("http://127.0.0.1:")?;
            let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("http://127.0.0.1:{port}"))
        });
        // It must not wait for somebody to read what else it says.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Store { child, folder, endpoint: endpoint.unwrap() })
    }

    fn files(&self, secret: &str) -> RunFiles {
        let [bucket, region, key_id, secret] =
            ["bucket", "us-east-1", "carboyid", secret].map(Into::into);
        let endpoint = self.endpoint.clone();
        let config = BucketConfig { endpoint, bucket, region, key_id, secret };
        RunFiles::new(Bucket::new(config).unwrap())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn artifact(path: &str, content: &[u8]) -> Artifact {
    let sha256 = Some(carboy_store::sha256(content));
    let bytes = content.len() as u64;
    Artifact { path: path.into(), bytes, sha256, media_type: Some("text/plain".into()) }
}

fn file_of(content: &[u8]) -> Arc<File> {
    let mut file = unnamed_file().unwrap();
    file.write_all(content).unwrap();
    Arc::new(file)
}

/// What is put under an address as a file of this content: the status.
async fn put(address: &str, as_file: &Artifact, content: &[u8]) -> u16 {
    let digest = as_file.sha256.as_deref().unwrap();
    let part = (0, content.len() as u64);
    Uploader::new().put(address, digest, file_of(content), part).await.unwrap()
}

async fn read(
    files: &RunFiles,
    file: &Artifact,
    part: (u64, u64),
) -> std::io::Result<Option<Vec<u8>>> {
    let Some(mut stored) = files.open("acme", "0a", file, part).await? else { return Ok(None) };
    let mut whole = Vec::new();
    while let Some(piece) = stored.next().await? {
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole))
}

#[tokio::test]
async fn files_of_a_run_are_put_by_whoever_has_their_addresses_and_read_again() {
    let Some(store) = Store::start("bucket") else { return };
    let files = store.files("carboysecret");
    assert_eq!(files.manifest("acme", "0a").await.unwrap(), None);
    let large: Vec<u8> = (0..700_000u32).map(|number| number as u8).collect();
    let contents = [("out/a \u{e9}+%&.txt", &b"hello"[..]), ("large", &large), ("empty", b"")];
    let left = contents.map(|(path, content)| artifact(path, content));
    let manifest = Manifest { files: left.to_vec(), refused: false };
    assert!(files.record("acme", "0a", &manifest).await.unwrap());
    assert_eq!(files.manifest("acme", "0a").await.unwrap(), Some(manifest));
    assert_eq!(files.manifest("other", "0a").await.unwrap(), None);
    assert!(files.there("acme", "0a").await.unwrap().is_empty());
    for (file, (_, content)) in left.iter().zip(contents) {
        let all = (0, file.bytes);
        assert_eq!(read(&files, file, all).await.unwrap(), None, "it is not there yet");
        let address = files.put_address("acme", "0a", file).unwrap();
        assert_eq!(put(&address, file, content).await, 200);
        // Once more: a worker may not have heard of it.
        assert_eq!(put(&address, file, content).await, 200);
        assert_eq!(read(&files, file, all).await.unwrap().as_deref(), Some(content));
    }
    assert_eq!(
        read(&files, &left[1], (100_000, 7)).await.unwrap().unwrap(),
        large[100_000..100_007]
    );
    let there = files.there("acme", "0a").await.unwrap();
    assert!(left.iter().all(|file| there.contains(&file.path)) && there.len() == 3, "{there:?}");
    let bytes = files.bytes("acme").await.unwrap();
    assert_eq!(bytes.into_iter().collect::<Vec<_>>(), [("0a".to_owned(), 700_005)]);
    assert!(files.bytes("acm").await.unwrap().is_empty());
}

#[tokio::test]
async fn an_address_is_good_for_what_it_was_signed_for_alone() {
    let Some(store) = Store::start("signed") else { return };
    let files = store.files("carboysecret");
    let file = artifact("a", b"hello");
    let address = files.put_address("acme", "0a", &file).unwrap();
    let longer = artifact("a", b"hello!");
    assert_eq!(put(&address, &file, b"hello!").await, 403, "more bytes");
    assert_eq!(put(&address, &longer, b"hello").await, 403, "another digest");
    for (from, to) in [("/0a/a?", "/0a/b?"), ("/0a/a?", "/0b/a?"), ("/acme/", "/other/")] {
        let elsewhere = address.replacen(from, to, 1);
        assert_ne!(elsewhere, address);
        assert_eq!(put(&elsewhere, &file, b"hello").await, 403, "{to}");
    }
    let later = address.replacen("X-Amz-Expires=60", "X-Amz-Expires=600000", 1);
    assert_eq!(put(&later, &file, b"hello").await, 403, "a longer time");
    assert!(files.there("acme", "0a").await.unwrap().is_empty());
    let stranger = store.files("guessedsecret");
    assert!(stranger.manifest("acme", "0a").await.is_err());
    let forged = stranger.put_address("acme", "0a", &file).unwrap();
    assert_eq!(put(&forged, &file, b"hello").await, 403);
    // This store does not look at digests. What has another is not passed on whole.
    assert_eq!(put(&address, &file, b"HELLO").await, 200);
    assert!(read(&files, &file, (0, 5)).await.is_err());
    assert_eq!(put(&address, &file, b"hello").await, 200);
    assert!(read(&files, &file, (0, 5)).await.is_ok());
}
