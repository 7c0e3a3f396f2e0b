use std::os::unix::fs::symlink;

use awo_domain::{OrgId, RunId, Timestamp};
use tempfile::TempDir;

use super::*;

const PATHS: [&str; 2] = ["a/node_modules", "~/.cache/pip"];

struct Scene {
    dir: TempDir,
    layouts: Vec<Layout>,
}

impl Scene {
    /// An organization with so many runs.
    fn new(runs: u128) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::from_epoch_ms(1);
        let org = OrgId::new(now, 1);
        let root = dir.path().join("workspaces");
        let layout = |run| Layout::create(&root, &org, &RunId::new(now, run), None).unwrap();
        let layouts = (0..runs).map(layout).collect();
        Scene { dir, layouts }
    }

    fn cache(&self) -> Cache {
        let archiver = Archiver::for_tests();
        Cache::open(self.dir.path(), archiver).unwrap()
    }

    /// The names of the entries.
    fn entries(&self) -> usize {
        let entries = fs::read_dir(self.dir.path().join(FOLDER)).unwrap();
        entries.count()
    }
}

fn key(name: &str, locks: &str) -> CacheKey {
    key_of(name, locks, "main", true)
}

fn key_of(name: &str, locks: &str, branch: &str, writes: bool) -> CacheKey {
    let name = EnvironmentName::parse(name).unwrap();
    let code = CachedCode {
        environment: &name,
        repository: "https://git.example/r",
        branch,
        default_branch: Some("main"),
        writes,
    };
    CacheKey::of(&code, locks.as_bytes()).unwrap()
}

fn paths() -> Vec<String> {
    PATHS.map(str::to_owned).to_vec()
}

fn fill(layout: &Layout) {
    for dir in [
        layout.workspace().join("a/node_modules/.bin"),
        layout.home().join(".cache/pip"),
    ] {
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("file"), "content").unwrap();
    }
    symlink("../x", layout.workspace().join("a/node_modules/.bin/link")).unwrap();
}

async fn keep(scene: &Scene, key: &CacheKey, layout: &Layout) {
    let (workspace, home) = (layout.workspace(), layout.home());
    let places = Places {
        workspace: &workspace,
        home: &home,
    };
    scene.cache().keep(key, &paths(), places).await;
}

async fn restore(scene: &Scene, key: &CacheKey, layout: &Layout) -> Vec<String> {
    let (workspace, home) = (layout.workspace(), layout.home());
    let places = Places {
        workspace: &workspace,
        home: &home,
    };
    scene.cache().restore(key, &paths(), places, layout).await
}

#[test]
fn lock_files_are_found_with_their_hashes_and_nothing_else_is() {
    let listed = b"100644 blob aa\tREADME.md\x00100644 blob bb\tweb/package-lock.json\x00\
                   100644 blob cc\tnot-a-Cargo.lock\x00100644 blob dd\tCargo.lock\x00";
    let found = lock_files(listed);
    let found = String::from_utf8(found).unwrap();
    assert_eq!(
        found,
        "100644 blob bb\tweb/package-lock.json\x00100644 blob dd\tCargo.lock"
    );
    assert!(lock_files(b"100644 blob aa\tREADME.md\0").is_empty());
    let name = EnvironmentName::parse("e").unwrap();
    let code = CachedCode {
        environment: &name,
        repository: "https://git.example/r",
        branch: "main",
        default_branch: None,
        writes: true,
    };
    assert_eq!(CacheKey::of(&code, b""), None);
    let other = CachedCode {
        repository: "https://git.example/other",
        ..code.clone()
    };
    assert_ne!(CacheKey::of(&code, b"x"), CacheKey::of(&other, b"x"));
}

#[tokio::test]
async fn the_next_setup_finds_what_one_has_left() {
    let scene = Scene::new(2);
    let key = key("node", "lock 1");
    fill(&scene.layouts[0]);
    keep(&scene, &key, &scene.layouts[0]).await;
    assert_eq!(restore(&scene, &key, &scene.layouts[1]).await, PATHS);
    let second = &scene.layouts[1];
    let file = second.workspace().join("a/node_modules/.bin/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "content");
    let link = second.workspace().join("a/node_modules/.bin/link");
    assert_eq!(fs::read_link(link).unwrap(), Path::new("../x"));
    assert!(second.home().join(".cache/pip/file").exists());
    // What is there is not written over.
    assert!(restore(&scene, &key, second).await.is_empty());
}

#[tokio::test]
async fn a_branch_finds_its_own_entries_and_those_of_the_default_branch_alone() {
    let scene = Scene::new(5);
    let key_of_branch = |branch| key_of("node", "lock", branch, true);
    fill(&scene.layouts[0]);
    keep(&scene, &key_of_branch("evil"), &scene.layouts[0]).await;
    for (branch, number, entries) in [("main", 1, 0), ("other", 2, 0), ("evil", 3, 2)] {
        let restored = restore(&scene, &key_of_branch(branch), &scene.layouts[number]).await;
        assert_eq!(restored.len(), entries, "{branch}");
    }
    keep(&scene, &key_of_branch("main"), &scene.layouts[0]).await;
    assert_eq!(
        restore(&scene, &key_of_branch("other"), &scene.layouts[4]).await,
        PATHS
    );
}

#[tokio::test]
async fn code_that_is_no_head_of_its_branch_writes_no_entry() {
    let scene = Scene::new(1);
    fill(&scene.layouts[0]);
    let key = key_of("node", "lock", "main", false);
    keep(&scene, &key, &scene.layouts[0]).await;
    assert_eq!(scene.entries(), 0);
}

#[tokio::test]
async fn another_environment_another_lock_file_and_another_organization_find_nothing() {
    let scene = Scene::new(2);
    fill(&scene.layouts[0]);
    keep(&scene, &key("node", "lock 1"), &scene.layouts[0]).await;
    for other in [key("node", "lock 2"), key("python", "lock 1")] {
        assert!(restore(&scene, &other, &scene.layouts[1]).await.is_empty());
    }
    let theirs = Scene::new(1);
    let same = key("node", "lock 1");
    assert!(restore(&theirs, &same, &theirs.layouts[0]).await.is_empty());
}

#[tokio::test]
async fn a_link_in_the_workspace_leads_no_cache_elsewhere() {
    let scene = Scene::new(3);
    let key = key("node", "lock");
    fill(&scene.layouts[0]);
    keep(&scene, &key, &scene.layouts[0]).await;
    let outside = scene.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, scene.layouts[1].workspace().join("a")).unwrap();
    assert_eq!(restore(&scene, &key, &scene.layouts[1]).await, PATHS[1..]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    // Nor is what a link leads to packed.
    let entries = scene.entries();
    fs::create_dir_all(outside.join("node_modules")).unwrap();
    let other = super::tests::key("other", "lock");
    symlink(&outside, scene.layouts[2].workspace().join("a")).unwrap();
    keep(&scene, &other, &scene.layouts[2]).await;
    assert_eq!(scene.entries(), entries);
}

#[tokio::test]
async fn a_hostile_archive_writes_nothing_outside_of_its_folder() {
    let scene = Scene::new(1);
    let key = key("node", "lock");
    let cache = scene.cache();
    let evil = scene.dir.path().join("evil");
    fs::create_dir_all(evil.join("in")).unwrap();
    fs::write(evil.join("pwned"), "x").unwrap();
    let outside = scene.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, evil.join("in/link")).unwrap();
    fs::write(evil.join("payload"), "x").unwrap();
    // A member with .. in its name, and one that goes through a link that the archive brings along.
    let made = std::process::Command::new("tar")
        .args(["--create", "--absolute-names", "--file"])
        .arg(cache.root.join(entry(&key.own, PATHS[0])))
        .arg("--directory")
        .arg(evil.join("in"))
        .args([
            "../pwned",
            "link",
            "--transform",
            "s,^payload$,link/payload,",
        ])
        .arg("--directory=..")
        .arg("payload")
        .status()
        .unwrap();
    assert!(made.success());
    restore(&scene, &key, &scene.layouts[0]).await;
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    let run_dir = scene.layouts[0].workspace();
    let run_dir = run_dir.parent().unwrap();
    assert!(!run_dir.join("pwned").exists());
    assert!(!scene.layouts[0].workspace().join("pwned").exists());
}

#[tokio::test]
async fn an_archive_that_does_not_read_is_no_cache() {
    let scene = Scene::new(1);
    let key = key("node", "lock");
    let entry = scene.cache().root.join(entry(&key.own, PATHS[0]));
    fs::write(&entry, "this is no archive").unwrap();
    assert!(restore(&scene, &key, &scene.layouts[0]).await.is_empty());
    assert!(!scene.layouts[0].workspace().join("a/node_modules").exists());
}

#[test]
fn entries_go_that_were_not_used_for_long_or_are_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    for (name, days, bytes) in [("old", 15, 1), ("b", 3, 40), ("c", 2, 40), ("d", 1, 40)] {
        let file = fs::File::create(dir.path().join(name)).unwrap();
        file.set_len(bytes).unwrap();
        let age = Duration::from_secs(days * 24 * 60 * 60);
        file.set_modified(now - age).unwrap();
    }
    remove_surplus(dir.path(), now, 100).unwrap();
    let left = fs::read_dir(dir.path()).unwrap();
    let mut left: Vec<_> = left.map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["c", "d"]);
}
