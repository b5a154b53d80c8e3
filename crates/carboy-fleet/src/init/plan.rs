//! What a fleet consists of.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::broker::BrokerPlace;
use crate::name::NodeName;

/// What a fleet consists of. It is kept in the folder, for the next time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct FleetPlan {
    /// Where the brokers are; 1, 3 or 5 of them.
    pub brokers: Vec<BrokerPlace>,
    /// The names of the nodes.
    pub nodes: BTreeSet<NodeName>,
}
