//! The object store that the settings name.

use carboy_store::{Bucket, BucketConfig, RunFiles};

use super::config::StoreConfig;
use super::tenants::ConfigFault;

impl StoreConfig {
    /// The files of runs there, or what is wrong. Nothing is asked of the store.
    pub fn open(&self) -> Result<RunFiles, ConfigFault> {
        let fault = |field: &str, why| ConfigFault { setting: format!("store{field}"), why };
        let bucket = Bucket::new(BucketConfig {
            endpoint: self.endpoint.clone(),
            bucket: self.bucket.clone(),
            region: self.region.clone(),
            key_id: self.key_id.read().map_err(|why| fault(".key_id", why))?,
            secret: self.secret.read().map_err(|why| fault(".secret", why))?,
        });
        bucket.map(RunFiles::new).map_err(|why| fault("", why.into()))
    }
}
