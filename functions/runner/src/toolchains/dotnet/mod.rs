//! .NET.

mod gates;
mod runners;

use super::Toolchain;
use super::names::is_named;
use super::tree::Folder;
use super::unit::{Cover, Unit, quoted};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: ".NET",
    runners: &runners::ALL,
    manifests: &["*.slnx", "*.sln", "*.csproj", "*.fsproj", "*.vbproj"],
    unit,
    tests_alone: None,
    test_files: &["*Test.cs", "*Tests.cs", "*Tests.fs"],
    gates: &gates::ALL,
    programs: &[("dotnet", "install the .NET SDK")],
    caches: &[("NUGET_PACKAGES", ".nuget/packages")],
    registry: None,
    example: "dotnet test",
};

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let by = TOOLCHAIN.manifests.iter().find_map(|pattern| {
        let mut names = folder.names();
        names
            .find(|name| is_named(name, pattern) && is_of_dotnet(folder, name))
            .map(str::to_owned)
    })?;
    let manager = if folder.has("global.json") {
        "dotnet, of the version in global.json"
    } else {
        "dotnet"
    };
    let mut unit = Unit::new(&by, manager).needs("dotnet");
    unit.covers = Cover::Below { except: Vec::new() };
    // A folder may hold several projects: the one is named.
    let target = quoted(&by);
    let is_lock = |file: &str| file.rsplit('/').next() == Some("packages.lock.json");
    let locked = if folder.files().any(is_lock) {
        " --locked-mode"
    } else {
        ""
    };
    unit.install = Some(format!("dotnet restore {target}{locked}"));
    Some(unit.tested_by("dotnet test", &format!("dotnet test {target} --no-restore")))
}

/// Ends of the names of projects.
const PROJECTS: [&str; 3] = [".csproj", ".fsproj", ".vbproj"];

/// False for a solution without a project of .NET: Visual Studio has them for C++, too.
fn is_of_dotnet(folder: &Folder<'_>, name: &str) -> bool {
    let is_project = PROJECTS.iter().any(|end| name.ends_with(end));
    is_project || {
        let solution = folder.text(name).unwrap_or_default();
        solution.is_empty() || PROJECTS.iter().any(|end| solution.contains(end))
    }
}
