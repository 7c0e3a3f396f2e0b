//! Files that decide what commands of make, CMake, Meson and the autotools do.

use crate::toolchains::gates::Gate;

pub(super) static ALL: [Gate; 2] = [
    Gate::Anywhere(&[
        // They come before `Makefile`.
        "GNUmakefile",
        "makefile",
        "*.mk",
        "*.mak",
        "CTestCustom.cmake",
        "CTestConfig.cmake",
        "CTestTestfile.cmake",
        "CMakePresets.json",
        "CMakeUserPresets.json",
        "meson.options",
        "meson_options.txt",
        "config.site",
    ]),
    Gate::Named(&[
        "Makefile",
        "Makefile.*",
        "*.am",
        "*.m4",
        "configure",
        "configure.ac",
        "configure.in",
        "CMakeLists.txt",
        "*.cmake",
        "meson.build",
        "*.wrap",
        "BSDmakefile",
        "justfile",
        "Justfile",
        ".justfile",
        "test-driver",
    ]),
];
