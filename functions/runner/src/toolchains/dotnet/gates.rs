//! Files that decide what commands of .NET do.

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 3] = [
    Gate::Anywhere(&[
        "*.runsettings",
        "global.json",
        "Directory.Build.props",
        "Directory.Build.targets",
        "Directory.Build.rsp",
        "Directory.Solution.*",
        "MSBuild.rsp",
        "nuget.config",
        "NuGet.Config",
        "NuGet.config",
        "xunit.runner.json",
        "*.xunit.runner.json",
        "testconfig.json",
        "*.testconfig.json",
        "dotnet-tools.json",
        "dotnet.config",
        "*.csproj.user",
    ]),
    Gate::Named(&["*.sln", "*.slnx", "*.slnf", "*.targets", "*.rsp"]),
    Gate::Partly(
        &["*.csproj", "*.fsproj", "*.vbproj", "*.props"],
        Parts::Xml(&[
            "*/PackageReference",
            "*/PackageVersion",
            "*/Version",
            "*/Description",
            "*/Authors",
            "*/PackageId",
            "*/PackageTags",
            "*/EmbeddedResource",
        ]),
    ),
];
