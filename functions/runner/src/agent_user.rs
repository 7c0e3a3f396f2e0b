//! The user that agents, hooks and verifiers run as.

/// User and group of agents and verifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}
