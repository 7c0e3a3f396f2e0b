//! Settings of git that hold in every call of the runner's.

/// Settings that hold in every call, above all configuration files.
pub(crate) const CONFIG: [(&str, &str); 22] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    // What a crash would lose, the run has lost with it.
    ("core.fsync", "none"),
    ("core.pager", "cat"),
    ("core.abbrev", "no"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("diff.renames", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("filter.lfs.smudge", ""),
    ("filter.lfs.clean", ""),
    ("filter.lfs.process", ""),
    ("filter.lfs.required", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.ext.allow", "never"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
];
