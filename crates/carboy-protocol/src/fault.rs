//! What is wrong with a policy, field by field.

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// The field: the name of a limit, or its full path.
    pub field: &'static str,
    /// What it must be.
    pub must: String,
    /// What it was.
    pub was: String,
}

impl std::fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let within = if self.field.contains('.') { "" } else { "limits." };
        write!(f, "{within}{} must be {}, was {}", self.field, self.must, self.was)
    }
}

impl std::error::Error for PolicyFault {}
