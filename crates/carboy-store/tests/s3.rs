//! The artifact store on a real S3 server: rclone's, on a port of the loopback interface.
//!
//! `CARBOY_TEST_RCLONE` names the program. `tests/objects` fetches it and sets that.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use carboy_store::ArtifactStore;
use sha2::{Digest, Sha256};

/// A server, and the folder that holds its buckets.
struct Server {
    child: Child,
    folder: PathBuf,
    address: String,
}

impl Server {
    /// Starts one with a bucket; nothing if the program is not there.
    fn start() -> Option<Server> {
        let Some(program) = std::env::var_os("CARBOY_TEST_RCLONE") else {
            println!("SKIPPED: CARBOY_TEST_RCLONE names no rclone");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("carboy-s3-{}", std::process::id()));
        fs::create_dir_all(folder.join("bucket")).unwrap();
        let mut child = Command::new(program)
            .args([
                "serve",
                "s3",
                "--addr",
                "127.0.0.1:0",
                "--auth-key",
                "carboyaccesskey,carboysecretkey",
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
        let address = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("http://127.0.0.1:")?;
            let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("http://127.0.0.1:{port}"))
        });
        // It must not wait for somebody to read what else it says.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Server { child, folder, address: address.unwrap() })
    }

    fn store(&self, place: &str, key: &str) -> ArtifactStore {
        let options = [
            ("aws_endpoint", self.address.as_str()),
            ("aws_allow_http", "true"),
            ("aws_access_key_id", key),
            ("aws_secret_access_key", "carboysecretkey"),
            ("aws_region", "us-east-1"),
        ];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        ArtifactStore::remote(place, options).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// Bytes that nobody holds in memory.
struct Pattern(u64);

impl Read for Pattern {
    fn read(&mut self, piece: &mut [u8]) -> std::io::Result<usize> {
        for byte in piece.iter_mut() {
            *byte = (self.0 >> 9) as u8 ^ self.0 as u8;
            self.0 += 1;
        }
        Ok(piece.len())
    }
}

/// The most memory that this process ever had.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The digest of what a store gives, and its length.
async fn digest_of(store: &ArtifactStore, sha256: &str) -> (String, u64) {
    let mut content = store.get(sha256).await.unwrap();
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    while let Some(piece) = content.next().await.unwrap() {
        digest.update(&piece);
        bytes += piece.len() as u64;
    }
    (hexadecimal(&digest.finalize()), bytes)
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn content_goes_to_a_real_s3_server_and_comes_back_by_its_digest() {
    let Some(server) = Server::start() else { return };
    let store = server.store("s3://bucket/some/prefix", "carboyaccesskey");
    let digest = store.put(b"abc").await.unwrap();
    assert_eq!(store.put(b"abc").await.unwrap(), digest);
    assert_eq!(digest_of(&store, &digest).await, (digest.clone(), 3));
    let object = server.folder.join("bucket/some/prefix/sha256").join(&digest[..2]);
    assert_eq!(fs::read(object.join(&digest[2..])).unwrap(), b"abc");

    // Long content is sent and received in pieces: memory does not grow with it.
    let long = 96 << 20;
    let mut whole = Sha256::new();
    let mut pattern = Pattern(0).take(long);
    let mut piece = vec![0; 1 << 16];
    loop {
        match pattern.read(&mut piece).unwrap() {
            0 => break,
            count => whole.update(&piece[..count]),
        }
    }
    let sha256 = hexadecimal(&whole.finalize());
    let before = peak_bytes();
    store.put_stream(&sha256, long, &mut Pattern(0).take(long)).await.unwrap();
    assert_eq!(digest_of(&store, &sha256).await, (sha256.clone(), long));
    let grown = peak_bytes() - before;
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");

    // What is not what its digest says does not become an object.
    let forged = hexadecimal(&Sha256::digest(b"forged"));
    assert!(store.put_stream(&forged, long, &mut Pattern(1).take(long)).await.is_err());
    assert!(!store.has(&forged).await.unwrap());

    store.remove(&digest).await.unwrap();
    assert!(!store.has(&digest).await.unwrap() && store.has(&sha256).await.unwrap());
    let stranger = server.store("s3://bucket/some/prefix", "somebody");
    assert!(stranger.put(b"abc").await.is_err());
}
