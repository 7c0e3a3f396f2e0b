//! Agents that attempt more than they are allowed.

use std::fs;

use awo_domain::run::RunErrorCode as Code;
use awo_supervisor::Sandbox;
use nix::sys::signal::{Signal, kill};

use crate::scene::{CANARY, READABLE, Scene, alive, git};

const FILES: &[(&str, &str)] = &[("README.md", "x\n"), ("src/a.txt", "a\n")];

/// A command that leaves a trace where anybody may write.
pub struct Trap {
    pub dir: tempfile::TempDir,
}

impl Trap {
    pub fn new() -> Trap {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir_in(READABLE).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let trap = dir.path().join("trap.sh");
        fs::write(
            &trap,
            "#!/bin/sh\necho \"$0 $*\" >> \"$(dirname \"$0\")/sprung\"\ncat\n",
        )
        .unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        Trap { dir }
    }

    pub fn path(&self) -> String {
        self.dir.path().join("trap.sh").display().to_string()
    }

    /// What sprang it.
    pub fn sprung(&self) -> String {
        fs::read_to_string(self.dir.path().join("sprung")).unwrap_or_default()
    }
}

/// Plants every way that git knows to run a program into the repository in the current folder.
pub fn plant(trap: &str) -> String {
    format!(
        "mkdir -p .git/hooks .git/info
        for hook in pre-commit prepare-commit-msg commit-msg post-commit pre-push post-checkout \
            reference-transaction post-index-change fsmonitor-watchman post-rewrite; do
            cp {trap} .git/hooks/$hook; chmod +x .git/hooks/$hook; done
        for key in core.fsmonitor core.sshCommand core.pager core.editor core.askPass \
            core.gitProxy core.alternateRefsCommand diff.external diff.x.textconv diff.x.command \
            merge.x.driver filter.x.clean filter.x.smudge filter.x.process filter.lfs.clean \
            filter.lfs.process credential.helper gpg.program uploadpack.packObjectsHook \
            remote.origin.uploadpack remote.origin.receivepack alias.add alias.commit; do
            git config $key '{trap}'; done
        git config core.hooksPath $PWD/.git/hooks; git config commit.gpgSign true
        git config core.worktree /; git config url.ext::{trap}.insteadOf file://
        echo '* filter=x diff=x merge=x' > .git/info/attributes
        "
    )
}

#[test]
fn nothing_that_an_agent_puts_into_its_git_folder_is_executed_or_heeded() {
    let trap = Trap::new();
    let agent = format!(
        "{} echo '* filter=x diff=x merge=x\n*.bin filter=lfs' > .gitattributes
        echo b > src/a.txt; rm -f {}/sprung",
        plant(&trap.path()),
        trap.dir.path().display(),
    );
    let scene = Scene::new(FILES, &agent);
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    assert_eq!(trap.sprung(), "");
    let show = git(
        &scene.origin(),
        &["show", &format!("{}:src/a.txt", branch.unwrap())],
    );
    assert_eq!(show, "b\n");

    let workspace = ended.run_dir.join("workspace");
    let unwary = [
        "-c",
        "safe.directory=*",
        "--work-tree=.",
        "commit",
        "-q",
        "-a",
        "-m",
        "x",
    ];
    crate::scene::try_git(&workspace, &unwary);
    assert!(trap.sprung().contains("trap.sh"), "the trap itself works");
}

#[test]
fn nested_repositories_are_neither_run_nor_recorded_as_links() {
    let trap = Trap::new();
    let agent = format!(
        "set -e; mkdir -p deep/inner empty; (cd deep/inner; git init -q; echo c > c; git add c; \
         git -c user.name=A -c user.email=a@localhost commit -q -m c; {plant}); (cd empty; git init -q; {plant}); \
         (cd src; git init -q; {plant}); rm -f {dir}/sprung; echo b > src/a.txt; \
         echo e > empty/e",
        plant = plant(&trap.path()).replace("set -e", ""),
        dir = trap.dir.path().display(),
    );
    let scene = Scene::new(FILES, &agent);
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    assert_eq!(trap.sprung(), "");
    let tree = git(&scene.origin(), &["ls-tree", "-r", branch.unwrap()]);
    assert!(!tree.contains("160000"), "{tree}");
    for file in ["deep/inner/c", "empty/e", "src/a.txt"] {
        assert!(tree.contains(file), "{tree}");
    }
    let git_dir = ended.run_dir.join("workspace/deep/inner/.git/HEAD");
    assert!(git_dir.exists(), "what was put aside is put back");
}

#[test]
fn a_git_folder_that_is_a_link_a_file_or_gone_breaks_nothing() {
    for what in [
        "rm -rf .git; ln -s /etc .git",
        "rm -rf .git; echo 'gitdir: /etc' > .git",
        "rm -rf .git",
        "rm -rf .git; mkfifo .git",
    ] {
        let scene = Scene::new(FILES, &format!("{what}; echo b > src/a.txt"));
        let ended = scene.run();
        assert!(ended.succeeded().1.is_some(), "{what}");
    }
}

#[test]
fn a_submodule_of_the_base_stays_what_it_is() {
    let trap = Trap::new();
    let agent = format!(
        "echo b > src/a.txt; cd sub && git init -q && {} rm -f {}/sprung",
        plant(&trap.path()),
        trap.dir.path().display()
    );
    let scene = Scene::new(FILES, &agent);
    let origin = scene.origin();
    let commit = git(&origin, &["rev-parse", "HEAD"]);
    let link = format!("160000,{},sub", commit.trim());
    git(&origin, &["update-index", "--add", "--cacheinfo", &link]);
    git(&origin, &["commit", "-q", "-m", "submodule"]);
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    assert_eq!(trap.sprung(), "");
    let tree = git(&origin, &["ls-tree", "-r", branch.unwrap()]);
    assert!(
        tree.contains(&format!("160000 commit {}", commit.trim())),
        "{tree}"
    );
}

#[test]
fn fifos_where_git_would_read_do_not_hang_it() {
    let agent = "mkfifo .gitignore .gitattributes src/.gitignore; echo b > src/a.txt";
    Scene::new(FILES, agent).run().succeeded();
}

#[test]
fn a_workspace_that_is_gone_or_replaced_by_a_link_fails_the_iteration() {
    let mut scene = Scene::new(FILES, "cd ..; rm -rf workspace; ln -s / workspace").once();
    // Another user cannot do that to a folder of ours.
    scene.other_user = false;
    let ended = scene.run();
    let message = ended.failed(Code::AgentFailed);
    let is_refused = Sandbox::is_available() && message.contains("exit code 1");
    assert!(
        is_refused || message.contains("removed the workspace"),
        "{message}"
    );
}

#[test]
fn the_agents_environment_holds_what_is_documented_and_nothing_else() {
    let agent = "env | sed 's/=.*//' | sort > names; tr '\\0' '\\n' < /proc/self/environ > whole";
    let scene = Scene::new(FILES, agent);
    let ended = scene.run();
    ended.succeeded();
    let read = |name: &str| fs::read_to_string(ended.run_dir.join("workspace").join(name)).unwrap();
    let wanted = "AWO_DEPTH AWO_ITERATION AWO_PROMPT AWO_PROMPT_FILE AWO_REQUEST AWO_RESULT AWO_RUN_ID HOME LANG PATH PWD TMPDIR";
    let names = read("names");
    let names: Vec<&str> = names
        .lines()
        .filter(|n| !["_", "OLDPWD", "SHLVL"].contains(n))
        .collect();
    assert_eq!(names.join(" "), wanted);
    assert!(!read("whole").contains(CANARY));
}

#[test]
fn no_process_that_an_agent_can_look_into_holds_a_secret() {
    // Every environment and memory map that may be read; the agent's own is readable for sure.
    let agent = format!(
        "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ 2>/dev/null; done > all; \
         grep -q AWO_ITERATION all || exit 8; \
         up=$PPID; test $up = 0 || {{ up=$(sed 's/.*) . \\([0-9]*\\).*/\\1/' /proc/$up/stat); echo $up > runner; \
         cat /proc/$up/environ > environ 2>&1; cat /proc/$up/maps > maps 2>&1; }}; \
         ! grep -q '{CANARY}-nonce' all"
    );
    for other_user in [true, false] {
        let mut scene = Scene::new(FILES, &agent);
        scene.other_user = other_user;
        let running = scene.start();
        let pid = running.child.id().to_string();
        let ended = running.end(scene.dir.path());
        ended.succeeded();
        let read = |name: &str| fs::read(ended.run_dir.join("workspace").join(name)).unwrap();
        // In a namespace of its own, a command sees no process above it.
        if !ended.run_dir.join("workspace/runner").exists() {
            continue;
        }
        assert_eq!(String::from_utf8(read("runner")).unwrap().trim(), pid);
        let environ = String::from_utf8_lossy(&read("environ")).into_owned();
        assert!(!environ.contains("nonce"), "{environ}");
        // Root sees through everything but what is not there.
        if other_user || !nix::unistd::geteuid().is_root() {
            assert!(!environ.contains(CANARY), "{environ}");
            let maps = String::from_utf8_lossy(&read("maps")).into_owned();
            assert!(maps.contains("Permission denied"), "{maps}");
        }
    }
}

#[test]
fn what_an_agent_leaves_running_is_dead_before_its_work_is_judged() {
    // Of this test alone: other agents may be at work on the same machine.
    let mark = format!("LEFT_BEHIND=by-{}", std::process::id());
    let agent = format!(
        "export {mark}; \
         setsid sh -c 'trap \"\" TERM HUP; while :; do echo late > late; sleep 0.01; done' & \
         (setsid sleep 4321 &) ; echo y > y"
    );
    let plan = format!(
        "tests: [{{run: 'for p in /proc/[0-9]*; do if tr \"\\\\0\" \" \" < $p/environ 2>/dev/null \
         | grep -q {mark}; then exit 1; fi; done'}}]\n"
    );
    let scene = Scene::new(&[("verify.yaml", &plan)], &agent);
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn an_agent_whose_supervisor_was_killed_is_dead_all_the_same() {
    // In a sandbox it cannot, and neither can another user: somebody else does it here.
    let agent = "setsid sleep 4321 & echo > here; sleep 4321";
    let scene = Scene::new(FILES, agent).once();
    let running = scene.start();
    running.until_there_is("here");
    kill(running.supervisor(), Signal::SIGKILL).unwrap();
    let ended = running.end(scene.dir.path());
    assert!(
        ended
            .failed(Code::AgentFailed)
            .contains("killed its supervisor")
    );
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn names_that_look_like_options_or_hold_anything_are_files() {
    let agent = "echo 1 > ./--force; echo 2 > \"a\nb\"; echo 3 > ':(top)x'; echo 4 > ' '";
    let scene = Scene::new(FILES, agent);
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    let tree = git(
        &scene.origin(),
        &["ls-tree", "-r", "-z", "--name-only", branch.unwrap()],
    );
    let names: Vec<&str> = tree.split_terminator('\0').collect();
    assert_eq!(
        names,
        [" ", "--force", ":(top)x", "README.md", "a\nb", "src/a.txt"]
    );
}
