//! What a path names. A name that cannot be one is the name of nothing.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// The names in a request's path.
pub(super) struct Named<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(names)) => Ok(Named(names)),
            Err(_no_text) => Err(Problem::not_found()),
        }
    }
}
