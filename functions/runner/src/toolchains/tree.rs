//! A checkout as detection reads it: file names and the text of small files, in bounded time and memory. No
//! link is followed, and folders that hold other people's code are left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::safe_files;

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 262_144;
/// Most files that are listed, and the longest path of one.
const MAX_FILES: usize = 100_000;
const MAX_PATH_BYTES: usize = 1_024;
/// Folders that hold what tools made or brought, or data for tests.
const NO_SOURCES: [&str; 12] = [
    "node_modules",
    "vendor",
    "third_party",
    "target",
    "dist",
    "venv",
    "__pycache__",
    "site-packages",
    "testdata",
    "fixtures",
    "__fixtures__",
    "templates",
];

/// A checkout with the names of its files.
pub(crate) struct Tree {
    root: PathBuf,
    /// Paths relative to the root.
    files: BTreeSet<String>,
}

impl Tree {
    /// Lists the files of `root`, those near the top first.
    pub(crate) fn read(root: &Path) -> Tree {
        let mut files = BTreeSet::new();
        let mut folders = vec![String::new()];
        while !folders.is_empty() && files.len() < MAX_FILES {
            let mut below = Vec::new();
            for folder in folders {
                list(root, &folder, &mut files, &mut below);
                if below.len() > MAX_FILES {
                    break;
                }
            }
            folders = below;
        }
        Tree {
            root: root.to_owned(),
            files,
        }
    }

    /// The folder `path`, relative to the root.
    pub(crate) fn folder(&self, path: &str) -> Folder<'_> {
        Folder {
            tree: self,
            path: path.to_owned(),
        }
    }

    /// Folders with files, at most `depth` below the root, parents before what they hold.
    pub(crate) fn folders(&self, depth: usize) -> Vec<&str> {
        let parents = self.files.iter().filter_map(|file| file.rsplit_once('/'));
        let folders: BTreeSet<(usize, &str)> = parents
            .map(|(folder, _)| (folder.split('/').count(), folder))
            .filter(|(count, _)| *count <= depth)
            .collect();
        std::iter::once("")
            .chain(folders.into_iter().map(|(_, folder)| folder))
            .collect()
    }
}

/// Adds the files of a folder, and its folders with their sources.
fn list(root: &Path, folder: &str, files: &mut BTreeSet<String>, below: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        if files.len() == MAX_FILES {
            return;
        }
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
            continue;
        };
        let path = if folder.is_empty() {
            name.to_owned()
        } else {
            format!("{folder}/{name}")
        };
        if path.len() > MAX_PATH_BYTES {
            continue;
        }
        if kind.is_file() {
            files.insert(path);
        } else if kind.is_dir() && !name.starts_with('.') && !NO_SOURCES.contains(&name) {
            below.push(path);
        }
    }
}

/// A folder of a checkout.
#[derive(Clone)]
pub(crate) struct Folder<'a> {
    tree: &'a Tree,
    path: String,
}

impl<'a> Folder<'a> {
    /// Folders with files below this one, at most `depth` below it.
    pub(crate) fn folders(&self, depth: usize) -> Vec<Folder<'a>> {
        let own_depth = if self.is_top() {
            0
        } else {
            self.path.split('/').count()
        };
        let below = self.tree.folders(own_depth + depth).into_iter();
        let prefix = self.full("");
        below
            .filter(|path| path.starts_with(&prefix) && !path.is_empty())
            .map(|path| self.tree.folder(path))
            .collect()
    }

    /// Path of a folder below this one, in this one.
    pub(crate) fn inner(&self, below: &Folder<'_>) -> String {
        let path = below.path.strip_prefix(&self.path).unwrap_or(&below.path);
        path.trim_start_matches('/').to_owned()
    }

    /// Path in the checkout; empty at the top.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn is_top(&self) -> bool {
        self.path.is_empty()
    }

    fn full(&self, name: &str) -> String {
        if self.is_top() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.path)
        }
    }

    /// True if the file `name`, a path in this folder, is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tree.files.contains(&self.full(name))
    }

    /// True if there is anything at `path` of this folder, listed or not.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let path = self.full(path);
        safe_files::metadata_within(&self.tree.root, Path::new(&path)).is_ok()
    }

    /// The first of these files that is there.
    pub(crate) fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// Text of a file; `None` if it is missing, no plain file, too large or not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        if !self.has(name) {
            return None;
        }
        let path = self.tree.root.join(self.full(name));
        let bytes = safe_files::read(&path, MAX_FILE_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// A file of JSON.
    pub(crate) fn json(&self, name: &str) -> Option<serde_json::Value> {
        serde_json::from_str(&self.text(name)?).ok()
    }

    /// A file of TOML.
    pub(crate) fn toml(&self, name: &str) -> Option<toml::Table> {
        self.text(name)?.parse().ok()
    }

    /// Files below this folder, as paths in it.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let prefix = if self.is_top() {
            String::new()
        } else {
            format!("{}/", self.path)
        };
        let from = self.tree.files.range(prefix.clone()..);
        let length = prefix.len();
        from.take_while(move |file| file.starts_with(&prefix))
            .map(move |file| &file[length..])
    }

    /// Names of the files in the folder itself.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files().filter(|file| !file.contains('/'))
    }

    /// True if there is a file below the folder `name` of this one.
    pub(crate) fn has_folder(&self, name: &str) -> bool {
        let prefix = self.full(&format!("{name}/"));
        let next = self.tree.files.range(prefix.clone()..).next();
        next.is_some_and(|file| file.starts_with(&prefix))
    }
}
