//! What a door needs of whoever holds sessions, and of one session.
//!
//! A door does not know whether a session's jar is on this host or on another. A runner that reaches others gives
//! each session an id, under which every door to the same hosts finds it.

use std::future::ready;

use carboy_protocol::{Opening, Piece, Reply, Variables};

use super::Session;
use crate::error::RunError;
use crate::runner::{RunOptions, Runner};

/// A runner that holds sessions.
pub trait Sessions: Runner {
    /// One of its sessions.
    type Session: SessionHandle;

    /// Opens a session for a tenant. Dropping the future ends what was begun.
    fn session_with(
        &self,
        opening: Opening,
        tenant: &str,
    ) -> impl Future<Output = Result<Self::Session, RunError>> + Send;

    /// The session of this tenant that has this id, if ids mean something here: it may have been opened at
    /// another door.
    fn attach(
        &self,
        _tenant: &str,
        _id: &str,
    ) -> impl Future<Output = Result<Option<Self::Session>, RunError>> + Send {
        ready(Ok(None))
    }
}

/// One session, wherever its jar is. One piece of code runs in it at a time.
pub trait SessionHandle: Sized + Send + Sync + 'static {
    /// Under which every door to the same hosts finds it, if others can.
    fn id(&self) -> Option<&str> {
        None
    }

    /// Runs code; what it defines is there for the next.
    fn run_with(
        &self,
        piece: Piece,
        options: RunOptions,
    ) -> impl Future<Output = Result<Reply, RunError>> + Send;

    /// What the code has defined.
    fn variables(&self) -> impl Future<Output = Result<Variables, RunError>> + Send;

    /// A copy, which goes on beside it.
    fn branch(&self) -> impl Future<Output = Result<Self, RunError>> + Send;

    /// Keeps the state as it is now under a name. One of that name is replaced.
    fn checkpoint(&self, name: &str) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Goes back to the state that was kept under this name, which stays.
    fn rollback(&self, name: &str) -> impl Future<Output = Result<(), RunError>> + Send;

    /// The names of what is kept.
    fn checkpoints(&self) -> impl Future<Output = Result<Vec<String>, RunError>> + Send;

    /// Forgets what is kept under this name.
    fn drop_checkpoint(&self, name: &str) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Ends it, and waits until nothing of it is left.
    fn close(&self) -> impl Future<Output = ()> + Send;

    /// The door goes away. A session that no other door finds ends with it.
    fn leave(&self) -> impl Future<Output = ()> + Send {
        self.close()
    }

    /// Asks whether it is still there, where [`SessionHandle::check`] would not know by itself.
    fn refresh(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// An error if it is known to be over, which says why.
    fn check(&self) -> Result<(), RunError>;
}

impl SessionHandle for Session {
    async fn run_with(&self, piece: Piece, options: RunOptions) -> Result<Reply, RunError> {
        Session::run_with(self, piece, options).await
    }

    async fn variables(&self) -> Result<Variables, RunError> {
        Session::variables(self).await
    }

    async fn branch(&self) -> Result<Session, RunError> {
        Session::branch(self).await
    }

    async fn checkpoint(&self, name: &str) -> Result<(), RunError> {
        Session::checkpoint(self, name).await
    }

    async fn rollback(&self, name: &str) -> Result<(), RunError> {
        Session::rollback(self, name).await
    }

    async fn checkpoints(&self) -> Result<Vec<String>, RunError> {
        Session::checkpoints(self).await
    }

    async fn drop_checkpoint(&self, name: &str) -> Result<(), RunError> {
        Session::drop_checkpoint(self, name).await
    }

    async fn close(&self) {
        Session::close(self).await;
    }

    fn check(&self) -> Result<(), RunError> {
        Session::check(self)
    }
}
