//! The process of an inspection: its working directory is the folder that it reads.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use awo_domain::verification::Check;
use awo_supervisor::hide_memory;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::protocol::{Answer, Bytes, Files, GatePart, Request, Task};
use crate::plan::{FrozenPlan, matching};
use crate::toolchains::gates;
use crate::verify::{self, Findings};

const MIB: u64 = 1 << 20;

/// The whole program: `<MiB of memory> <request file>`.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match inspect(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn inspect(mut args: impl Iterator<Item = OsString>) -> io::Result<()> {
    let usage = || io::Error::other("usage: inspect <MiB of memory> <request file>");
    let memory_mb = args.next().and_then(|mb| mb.to_str()?.parse::<u64>().ok());
    let bytes = memory_mb.ok_or_else(usage)?.saturating_mul(MIB);
    hide_memory()?;
    let (_, most) = getrlimit(Resource::RLIMIT_DATA)?;
    setrlimit(Resource::RLIMIT_DATA, bytes.min(most), bytes.min(most))?;
    let request = fs::read(args.next().ok_or_else(usage)?)?;
    let request: Request = serde_json::from_slice(&request).map_err(io::Error::other)?;
    let folder = Folder {
        // A user that may enter it may not see the folders above it.
        dir: PathBuf::from("."),
        files: request.files,
        all: OnceCell::new(),
    };
    let mut stdout = io::stdout().lock();
    for task in request.tasks {
        let mut line = serde_json::to_vec(&folder.answer(task)).map_err(io::Error::other)?;
        line.push(b'\n');
        stdout.write_all(&line)?;
        stdout.flush()?;
    }
    Ok(())
}

/// The folder that is inspected.
struct Folder {
    dir: PathBuf,
    files: Files,
    /// Every file, once somebody wants to know.
    all: OnceCell<Result<Vec<PathBuf>, String>>,
}

impl Folder {
    fn answer(&self, task: Task) -> Answer {
        let dir = &self.dir;
        match task {
            Task::Plan => Answer::Plan(Box::new(FrozenPlan::of(dir))),
            Task::Match { globs, paths } => Answer::Matching(matching(&globs, &paths.0)),
            Task::Gate {
                path,
                before,
                after,
                base,
            } => Answer::Gate(gate_part(&path.0, [before, after, base])),
            Task::Required(glob) => {
                let name = verify::required_name(&glob);
                self.rule(&name, |all| verify::required(&glob, all))
            }
            Task::Forbidden(glob) => {
                let name = verify::forbidden_name(&glob);
                let only = self.files.only.as_ref().map(|only| only.0.as_slice());
                self.rule(&name, |all| verify::forbidden(&glob, all, only))
            }
            Task::Schema(check) => Answer::Check(verify::schema(dir, &check)),
            Task::Report { report, since } => Answer::Findings(Findings::read(dir, &report, since)),
            Task::Blackbox {
                expect,
                output,
                stdout,
                stdout_was_cut,
            } => {
                let stdout = (!stdout_was_cut).then_some(stdout.0.as_slice());
                Answer::Faults(verify::blackbox_faults(dir, &expect, &output.0, stdout))
            }
            Task::LargeFiles { limit } => self.changed_files_check(verify::LARGE_FILES, |files| {
                verify::large_files(dir, files, limit)
            }),
            Task::Leftovers => {
                self.changed_files_check(verify::LEFTOVERS, |files| verify::leftovers(dir, files))
            }
            Task::Coverage(coverage) => Answer::Check(verify::coverage(dir, &coverage)),
        }
    }

    /// A check of all files.
    fn rule(&self, name: &str, check: impl Fn(&[PathBuf]) -> Check) -> Answer {
        let all = self.all.get_or_init(|| every_file(&self.dir));
        Answer::Check(match all {
            Ok(all) => check(all),
            Err(why) => verify::error(name, &format!("the files cannot be listed: {why}")),
        })
    }

    /// A check of the files that changed.
    fn changed_files_check(&self, name: &str, check: impl Fn(&[PathBuf]) -> Check) -> Answer {
        match &self.files.changed {
            Some(changed) => Answer::Check(check(&changed.0)),
            None => self.rule(name, check),
        }
    }
}

/// Comparison of a file by its parts; one that is not text, or of no known kind, differs as a whole.
fn gate_part(path: &[PathBuf], contents: [Option<Bytes>; 3]) -> GatePart {
    let parts = path.first().and_then(|path| gates::parts_of(path));
    let texts =
        contents.map(|bytes| String::from_utf8(bytes.map_or(Vec::new(), |bytes| bytes.0)).ok());
    let (Some(parts), [Some(before), Some(after), Some(base)]) = (parts, texts) else {
        return GatePart {
            differs: true,
            merged: None,
        };
    };
    let differs = parts.differ(&before, &after);
    let merged = differs.then(|| parts.merged(&base, &after)).flatten();
    GatePart { differs, merged }
}

fn every_file(dir: &Path) -> Result<Vec<PathBuf>, String> {
    verify::every_file(dir).map_err(|why| why.to_string())
}
