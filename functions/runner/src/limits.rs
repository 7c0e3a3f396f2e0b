//! Machine limits for agents, hooks and verifiers of a run: from the profile to the supervisor, and
//! the message when one is exceeded.

use std::path::Path;

use awo_domain::profile::ExecutionLimits;
use awo_supervisor::{Breach, Limit, Limits};

/// The limits of a command that may write in `places`.
pub(crate) fn limits(of: &ExecutionLimits, places: &[&Path]) -> Limits {
    Limits {
        memory_mb: of.max_memory_mb,
        disk_mb: of.max_disk_mb,
        processes: of.max_processes,
        places: places.iter().map(|place| place.to_path_buf()).collect(),
    }
}

/// The description of a breach, with the key that grants more.
pub(crate) fn description(breach: Breach) -> String {
    let Breach {
        limit,
        granted,
        measured,
    } = breach;
    let (took, key) = match limit {
        Limit::Memory => (format!("{measured} MiB of memory"), "maxMemoryMb"),
        Limit::Disk => (format!("{measured} MiB of disk"), "maxDiskMb"),
        Limit::Processes => (format!("{measured} processes at once"), "maxProcesses"),
    };
    format!("it took {took}, and the profile's executionLimits.{key} is {granted}")
}
