//! Releases: small programs are packed by `infra/release/package.sh` and installed by
//! `infra/release/install.sh`. `make check-dist` does the same with the real programs.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::template::root;

const VERSION: &str = "9.8.7";
const AWO: &str = r##"#!/bin/sh
case "$1" in
    --version) echo "awo 9.8.7" ;;
    man) mkdir -p "$3" && echo '.TH awo 1' > "$3/awo.1" ;;
    completions) echo "# completions of $2" ;;
esac
"##;
const OTHER: &str = "#!/bin/sh\necho \"$(basename \"$0\") 9.8.7\"\n";

/// A release of three small programs, and an empty home.
pub(crate) struct Release {
    dir: TempDir,
}

impl Release {
    pub(crate) fn packed() -> Release {
        Release::with_awo(AWO)
    }

    fn with_awo(awo: &str) -> Release {
        let release = Release {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(release.home()).unwrap();
        let programs = release.dir.path().join("programs");
        for (name, script) in [("awo", awo), ("awo-local", OTHER), ("runner", OTHER)] {
            write_program(&programs.join(name), script);
        }
        release.pack(&release.dist());
        release
    }

    fn pack(&self, dist: &Path) {
        let packed = Command::new(root().join("infra/release/package.sh"))
            .arg(self.dir.path().join("programs"))
            .arg(dist)
            .args([VERSION, &target()])
            .env("SOURCE_DATE_EPOCH", "1795161600")
            .output()
            .unwrap();
        assert!(packed.status.success(), "{packed:?}");
    }

    pub(crate) fn dist(&self) -> PathBuf {
        self.dir.path().join("dist")
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn prefix(&self) -> PathBuf {
        self.home().join(".local")
    }

    fn archive(&self) -> PathBuf {
        self.dist()
            .join(format!("awo-{VERSION}-{}.tar.gz", target()))
    }

    fn sums(&self) -> PathBuf {
        self.dist().join("SHA256SUMS")
    }

    /// Runs the script with arguments; a program in `bin` comes before those of the machine.
    fn install(&self, arguments: &[&str]) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new("sh")
            .arg(root().join("infra/release/install.sh"))
            .args(arguments)
            .env("HOME", self.home())
            .env(
                "PATH",
                format!("{}:{path}", self.dir.path().join("bin").display()),
            )
            .output()
            .unwrap()
    }

    /// Asserts that the script refuses with this text, and leaves nothing behind.
    fn refuses(&self, arguments: &[&str], fault: &str) {
        let output = self.install(arguments);
        let text = text(&output);
        assert!(!output.status.success(), "{arguments:?}: {text}");
        assert!(text.contains(fault), "{arguments:?}: {text}");
        assert!(text.contains("what to do: "), "{arguments:?}: {text}");
        assert!(!self.prefix().exists(), "{arguments:?}: {text}");
    }
}

fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

fn write_program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_release_is_installed_below_a_prefix_without_root() {
    let release = Release::packed();
    let prefix = release.home().join("p & q");
    let output = release.install(&[
        release.dist().to_str().unwrap(),
        "--prefix",
        prefix.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", text(&output));
    let hint = format!("export PATH=\"{}/bin:$PATH\"", prefix.display());
    assert!(text(&output).contains(&hint), "{}", text(&output));
    for (name, mode) in [
        ("bin/awo", 0o755),
        ("bin/awo-local", 0o755),
        ("bin/runner", 0o755),
        ("share/awo.service", 0o644),
        ("share/man/man1/awo.1", 0o644),
        ("share/bash-completion/completions/awo", 0o644),
        ("share/zsh/site-functions/_awo", 0o644),
        ("share/fish/vendor_completions.d/awo.fish", 0o644),
        ("share/doc/awo/LICENSE", 0o644),
    ] {
        let permissions = fs::metadata(prefix.join(name)).expect(name).permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
    let unit = fs::read_to_string(prefix.join("share/awo.service")).unwrap();
    let start = format!("ExecStart={}/bin/awo-local\n", prefix.display());
    assert!(unit.contains(&start), "{unit}");
    let written = fs::read_dir(release.home()).unwrap().count();
    assert_eq!(written, 1, "something stands beside the prefix");
}

#[test]
fn a_program_that_runs_is_replaced() {
    let release = Release::packed();
    let runner = release.prefix().join("bin/runner");
    fs::create_dir_all(runner.parent().unwrap()).unwrap();
    fs::copy("/bin/sleep", &runner).unwrap();
    let mut old = Command::new(&runner).arg("60").spawn().unwrap();
    let output = release.install(&[release.dist().to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(fs::read_to_string(&runner).unwrap(), OTHER);
    assert!(old.try_wait().unwrap().is_none(), "the old program ended");
    old.kill().unwrap();
    old.wait().unwrap();
}

#[test]
fn an_archive_that_differs_from_its_checksum_is_not_installed() {
    let release = Release::packed();
    let mut bytes = fs::read(release.archive()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(release.archive(), bytes).unwrap();
    let sums = fs::read_to_string(release.sums()).unwrap();
    let stated = format!("SHA256SUMS states {}", &sums[..64]);
    release.refuses(&[release.dist().to_str().unwrap()], &stated);
}

#[test]
fn checksums_that_name_no_single_archive_are_refused() {
    let release = Release::packed();
    let sums = fs::read_to_string(release.sums()).unwrap();
    let (sum, name) = sums.trim().split_once("  ").unwrap();
    let other = format!("awo-{VERSION}-sparc-unknown-linux-gnu.tar.gz");
    let (none, several) = ("has no archive for", "has several archives for");
    for (content, fault) in [
        (String::new(), none),
        ("<html>not here</html>\n".to_owned(), none),
        (format!("{sum}  {other}\n"), none),
        (format!("{}  {name}\n", &sum[1..]), none),
        (format!("{}  {name}\n", sum.to_uppercase()), none),
        (format!("{sum}  ../{name}\n"), none),
        (format!("{sum}  awo-9/../{name}\n"), none),
        (format!("{sum}  {name} x\n"), none),
        (
            format!("{sum}  {name}\n{sum}  awo-1-{}.tar.gz\n", target()),
            several,
        ),
    ] {
        fs::write(release.sums(), content).unwrap();
        release.refuses(&[release.dist().to_str().unwrap()], fault);
    }
    fs::remove_file(release.sums()).unwrap();
    release.refuses(&[release.dist().to_str().unwrap()], "cannot read");
}

#[test]
fn programs_that_do_not_run_on_this_machine_are_not_installed() {
    let release = Release::with_awo(&AWO.replace("echo \"awo 9.8.7\"", "exit 127"));
    release.refuses(
        &[release.dist().to_str().unwrap()],
        "the programs do not run on this machine",
    );
}

#[test]
fn a_release_is_read_over_https_or_on_this_machine_alone() {
    let release = Release::packed();
    let called = release.dir.path().join("called");
    let curl = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 6\n", called.display());
    write_program(&release.dir.path().join("bin/curl"), &curl);
    for (address, fault) in [
        ("http://example.com/v1", "is not encrypted"),
        ("http://127.0.0.1.example.com/v1", "is not encrypted"),
        ("http://127.0.0.1:1@example.com/v1", "is not encrypted"),
        ("http://localhost:80:80/v1", "is not encrypted"),
        ("http://example.com:127.0.0.1/v1", "is not encrypted"),
        ("ftp://example.com/v1", "is no address"),
    ] {
        release.refuses(&[address], fault);
    }
    assert!(!called.exists(), "a refused address was called");
    release.refuses(&["https://example.com/v1"], "cannot download");
    let called = fs::read_to_string(called).unwrap();
    assert!(
        called.contains("--proto =https --proto-redir =https"),
        "{called}"
    );
}

#[test]
fn a_release_is_downloaded_from_a_server_on_this_machine() {
    let release = Release::packed();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v9.8.7/", listener.local_addr().unwrap());
    let dist = release.dist();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap().to_owned();
            let body = fs::read(dist.join(path.rsplit('/').next().unwrap())).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
            let head = format!("{head}connection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    let output = release.install(&[&address]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(release.prefix().join("bin/awo").is_file());
}

#[test]
fn the_same_programs_are_packed_to_the_same_bytes() {
    let release = Release::packed();
    let again = release.dir.path().join("again");
    release.pack(&again);
    let name = release.archive();
    let name = name.file_name().unwrap();
    let archives = [release.dist(), again].map(|dist| fs::read(dist.join(name)).unwrap());
    assert!(archives[0] == archives[1], "the archives differ");
    // Neither the time of the build nor the user who built.
    assert_eq!(archives[0][4..8], [0; 4], "the time in the head of gzip");
    let listed = Command::new("tar")
        .args(["--utc", "-tvzf"])
        .arg(release.archive())
        .output()
        .unwrap();
    let listed = text(&listed);
    for line in listed.lines() {
        assert!(line.contains(" 0/0 "), "{line}");
        assert!(line.contains(" 2026-11-20 08:00 "), "{line}");
    }
}

#[test]
fn the_metadata_of_binstall_name_the_archive_and_its_programs() {
    let release = Release::packed();
    let manifest = fs::read_to_string(root().join("infra/cli/Cargo.toml")).unwrap();
    let expanded = |key: &str| {
        let line = manifest.lines().find_map(|line| {
            line.strip_prefix(key)?
                .strip_prefix(" = \"")?
                .strip_suffix('"')
        });
        line.expect(key)
            .replace("{ repo }", "https://example.com/fork")
            .replace("{ version }", VERSION)
            .replace("{ target }", &target())
            .replace("{ bin }", "awo")
            .replace("{ binary-ext }", "")
    };
    let name = release.archive();
    let name = name.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        expanded("pkg-url"),
        format!("https://example.com/fork/releases/download/v{VERSION}/{name}")
    );
    let listed = Command::new("tar")
        .arg("-tzf")
        .arg(release.archive())
        .output()
        .unwrap();
    let listed = text(&listed);
    let program = expanded("bin-dir");
    assert!(listed.lines().any(|line| line == program), "{listed}");
}
