//! What bodies take of the memory that all of them may take.

use tokio::sync::OwnedSemaphorePermit;

/// What a body takes, until it is dropped.
#[derive(Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl Room {
    pub fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.0 {
            Some(room) => room.merge(more),
            None => self.0 = Some(more),
        }
    }
}
