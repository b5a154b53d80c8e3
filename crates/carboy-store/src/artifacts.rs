//! The content of artifacts, kept by its SHA-256 in a directory or in the object storage of a cloud.
//!
//! Equal content is kept once, and what is kept under a digest has that digest: it is computed again while content is
//! streamed, and what does not fit it never becomes an object. Memory is bounded whatever the size.

use std::io::{self, Read};
use std::path::Path as HostPath;
use std::sync::Arc;

use carboy_engine::Keeper;
use carboy_protocol::Artifact;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutPayload, WriteMultipart};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

/// Content of at most so many bytes is sent at once, and longer content in parts of so many.
const PART: usize = 8 << 20;
/// How many parts are on their way at once.
const PARTS: usize = 2;

/// Keeps content by its SHA-256.
///
/// It is a [`Keeper`]: given to a run, it keeps what the run leaves. [`put`](ArtifactStore::put) keeps bytes that are
/// in memory, and [`get`](ArtifactStore::get) reads any of it again.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// let store = carboy_store::ArtifactStore::at("s3://bucket/runs")?;
/// let digest = store.put(b"content").await?;
/// let mut content = store.get(&digest).await?;
/// while let Some(piece) = content.next().await? {
///     println!("{} bytes", piece.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ArtifactStore {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl ArtifactStore {
    /// A store at an address: the path of a directory, which is made if it is not there, or with the feature `cloud`
    /// the URL of a place in the storage of S3, Google or Azure. How to reach that is read from the environment
    /// variables `AWS_*`, `GOOGLE_*` and `AZURE_*` that their own tools use.
    pub fn at(address: &str) -> io::Result<ArtifactStore> {
        match address.split_once("://") {
            None => ArtifactStore::folder(HostPath::new(address)),
            #[cfg(feature = "cloud")]
            Some(_) => {
                // Their short names, such as TOKEN, may be variables of other programs.
                let theirs = ["AWS_", "GOOGLE_", "AZURE_"];
                let is_theirs = |name: &str| theirs.iter().any(|own| name.starts_with(own));
                let variables = std::env::vars().filter(|(name, _)| is_theirs(name));
                ArtifactStore::remote(address, variables)
            }
            #[cfg(not(feature = "cloud"))]
            Some(_) => Err(not_an_address(address)),
        }
    }

    /// A store in a directory, which is made if it is not there.
    pub fn folder(path: &HostPath) -> io::Result<ArtifactStore> {
        std::fs::create_dir_all(path)?;
        let objects = LocalFileSystem::new_with_prefix(path).map_err(io::Error::other)?;
        Ok(ArtifactStore { objects: Arc::new(objects), prefix: Path::default() })
    }

    /// A store at the URL of a place in the storage of S3, Google or Azure, with the options that the crate
    /// `object_store` has for it, such as `aws_endpoint`. Options that it does not know are passed over.
    #[cfg(feature = "cloud")]
    pub fn remote(
        address: &str,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> io::Result<ArtifactStore> {
        let url = url::Url::parse(address).map_err(io::Error::other)?;
        if !matches!(url.scheme(), "s3" | "s3a" | "gs" | "az" | "adl" | "azure" | "abfs" | "abfss")
        {
            return Err(not_an_address(address));
        }
        let (objects, prefix) =
            object_store::parse_url_opts(&url, options).map_err(io::Error::other)?;
        Ok(ArtifactStore { objects: objects.into(), prefix })
    }

    /// Keeps bytes, and returns their SHA-256 in hexadecimal.
    pub async fn put(&self, content: &[u8]) -> io::Result<String> {
        let digest = hexadecimal(Sha256::digest(content).as_slice());
        self.put_stream(&digest, content.len() as u64, &mut &content[..]).await?;
        Ok(digest)
    }

    /// Keeps content of a known digest and length. It is read on this thread, a part at a time, so this belongs on one
    /// that may block if `content` does.
    pub async fn put_stream(
        &self,
        sha256: &str,
        bytes: u64,
        content: &mut (dyn Read + '_),
    ) -> io::Result<()> {
        let place = self.place(sha256)?;
        match self.objects.head(&place).await {
            Ok(_) => return Ok(()),
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if bytes <= PART as u64 {
            let part = read_part(content)?;
            fits(Sha256::digest(&part).as_slice(), part.len() as u64, sha256, bytes)?;
            self.objects.put(&place, PutPayload::from(part)).await?;
            return Ok(());
        }
        let upload = self.objects.put_multipart(&place).await?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART);
        match stream(content, &mut upload, sha256, bytes).await {
            Ok(()) => upload.finish().await.map(drop).map_err(io::Error::from),
            Err(error) => {
                // What is left of it is the storage's to remove.
                upload.abort().await.ok();
                Err(error)
            }
        }
    }

    /// The content with this SHA-256, as it comes.
    pub async fn get(&self, sha256: &str) -> io::Result<Content> {
        let found = self.objects.get(&self.place(sha256)?).await?;
        Ok(Content { bytes: found.meta.size, pieces: found.into_stream() })
    }

    /// Whether there is content with this SHA-256.
    pub async fn has(&self, sha256: &str) -> io::Result<bool> {
        match self.objects.head(&self.place(sha256)?).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the content with this SHA-256. What is not there is removed already.
    pub async fn remove(&self, sha256: &str) -> io::Result<()> {
        match self.objects.delete(&self.place(sha256)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Where content is: in a folder for the first byte of its digest, so that none has too many entries.
    fn place(&self, sha256: &str) -> io::Result<Path> {
        let is_digest = sha256.len() == 64
            && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_digest {
            let message = "a SHA-256 has 64 hexadecimal digits";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (folder, name) = sha256.split_at(2);
        Ok(["sha256", folder, name]
            .into_iter()
            .fold(self.prefix.clone(), |path, part| path.join(part)))
    }
}

impl Keeper for ArtifactStore {
    fn keep(&self, _run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let digest = artifact.sha256.as_deref().unwrap_or_default();
        Handle::current().block_on(self.put_stream(digest, artifact.bytes, content))
    }
}

/// Content as it comes from a store.
pub struct Content {
    bytes: u64,
    pieces: BoxStream<'static, object_store::Result<bytes::Bytes>>,
}

impl Content {
    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next piece; nothing at the end.
    pub async fn next(&mut self) -> io::Result<Option<bytes::Bytes>> {
        Ok(self.pieces.next().await.transpose()?)
    }
}

/// Sends content in parts, if it is what its digest says.
async fn stream(
    content: &mut (dyn Read + '_),
    upload: &mut WriteMultipart,
    sha256: &str,
    bytes: u64,
) -> io::Result<()> {
    let (mut digest, mut sent) = (Sha256::new(), 0);
    loop {
        let part = read_part(content)?;
        if part.is_empty() {
            break;
        }
        digest.update(&part);
        sent += part.len() as u64;
        upload.wait_for_capacity(PARTS).await?;
        upload.put(part.into());
    }
    fits(digest.finalize().as_slice(), sent, sha256, bytes)
}

/// The next part of content, or less at its end.
fn read_part(content: &mut (dyn Read + '_)) -> io::Result<Vec<u8>> {
    let mut part = Vec::new();
    content.take(PART as u64).read_to_end(&mut part)?;
    Ok(part)
}

fn fits(digest: &[u8], sent: u64, sha256: &str, bytes: u64) -> io::Result<()> {
    if (hexadecimal(digest).as_str(), sent) == (sha256, bytes) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "the content is not what its digest says"))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn not_an_address(address: &str) -> io::Error {
    let message = if cfg!(feature = "cloud") {
        format!(
            "{address} is no place for artifacts: name a directory, or a URL that begins with s3://, gs:// or az://"
        )
    } else {
        format!("{address} needs a build with the feature `cloud`; without it, name a directory")
    };
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    /// A store in a directory that is removed with the test.
    struct Place(std::path::PathBuf);

    impl Drop for Place {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn store(name: &str) -> (Place, ArtifactStore) {
        let path =
            std::env::temp_dir().join(format!("carboy-artifacts-{}-{name}", std::process::id()));
        let store = ArtifactStore::at(path.to_str().unwrap()).unwrap();
        (Place(path), store)
    }

    async fn content(store: &ArtifactStore, digest: &str) -> Vec<u8> {
        let mut content = store.get(digest).await.unwrap();
        let mut all = Vec::new();
        while let Some(piece) = content.next().await.unwrap() {
            all.extend_from_slice(&piece);
        }
        assert_eq!(all.len() as u64, content.bytes());
        all
    }

    #[tokio::test]
    async fn content_comes_back_by_its_digest_and_is_kept_once() {
        let (place, store) = store("once");
        let digest = store.put(b"abc").await.unwrap();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(store.put(b"abc").await.unwrap(), digest);
        assert_eq!(content(&store, &digest).await, b"abc");
        let file = place.0.join("sha256/ba").join(&digest[2..]);
        assert_eq!(std::fs::read(file).unwrap(), b"abc");
        assert!(store.has(&digest).await.unwrap());
        store.remove(&digest).await.unwrap();
        store.remove(&digest).await.unwrap();
        assert!(!store.has(&digest).await.unwrap());
        assert!(store.get(&digest).await.is_err());
    }

    #[tokio::test]
    async fn long_content_is_streamed() {
        let (_place, store) = store("long");
        let long: Vec<u8> = (0..3 * PART + 7).map(|n| (n / 1000) as u8).collect();
        let digest = store.put(&long).await.unwrap();
        assert!(content(&store, &digest).await == long);
    }

    #[tokio::test]
    async fn what_does_not_fit_its_digest_is_not_kept() {
        let (_place, store) = store("forged");
        let digest = hexadecimal(&Sha256::digest(b"abc"));
        let long = vec![7; PART + 1];
        for (bytes, forged) in [(3, b"abd".as_slice()), (2, b"abc"), (long.len() as u64, &long)] {
            assert!(store.put_stream(&digest, bytes, &mut &forged[..]).await.is_err());
            assert!(!store.has(&digest).await.unwrap());
        }
        for no_digest in ["", "..", "ABC", "../../x"] {
            assert!(store.put_stream(no_digest, 3, &mut b"abc".as_slice()).await.is_err());
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for address in ["ftp://host/x", "file:///tmp/x", "memory://", "http://host"] {
            let error = ArtifactStore::at(address).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{address}");
        }
    }
}
