"""Downloads the packages of manifest.toml through their registries' ordinary clients, checks their hashes, and makes a
git repository of each."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

LIMIT_S = 600
# What each kind's own tools leave in a folder.
IGNORED = {
    "pypi": ".venv/\n__pycache__/\n*.egg-info/\n.pytest_cache/\nbuild/\n.tox/\n.nox/\n",
    "npm": "node_modules/\n.nyc_output/\ncoverage/\n",
    "crate": "target/\nCargo.lock\n",
    "debian": "target/\nbuild/\nvendor/\nnode_modules/\n.pc/\n",
}


class PackageError(Exception):
    """A package that cannot be had as it is pinned."""


def run(command, cwd=None, env=None):
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=LIMIT_S, errors="replace")
    if done.returncode:
        raise PackageError(f"{' '.join(map(str, command))} exited with {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def download_pypi(name, version, into):
    # Build tools come as wheels: only the package itself must be its source.
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name,
         "--dest", str(into), f"{name}=={version}"])
    (archive,) = [*into.glob("*.tar.gz"), *into.glob("*.zip")]
    return archive


def download_npm(name, version, into):
    run(["npm", "pack", "--silent", "--pack-destination", str(into), f"{name}@{version}"])
    (archive,) = into.glob("*.tgz")
    return archive


def download_crate(name, version, into):
    project = into / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "lib.rs").write_text("")
    (project / "Cargo.toml").write_text(
        f'[package]\nname = "download"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n"{name}" = "={version}"\n')
    run(["cargo", "fetch", "--quiet", "--manifest-path", str(project / "Cargo.toml")])
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    (archive,) = home.glob(f"registry/cache/*/{name}-{version}.crate")
    return Path(shutil.copy(archive, into))


def download_debian(name, version, into):
    """The source's .dsc: it has the hashes of the other files, which dpkg-source checks."""
    options = debian_sources(into.parent / "apt")
    run(["apt-get", "--quiet", *options, "source", "--download-only", "--only-source", f"{name}={version}"], cwd=into)
    (description,) = into.glob("*.dsc")
    return description


def debian_sources(folder):
    """Options with which apt-get reads the machine's own Debian repositories as sources, once for all packages."""
    parts, lists = folder / "parts", folder / "lists"
    options = ["-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={parts}",
               "-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    if not lists.exists():
        parts.mkdir(parents=True)
        (lists / "partial").mkdir(parents=True)
        for source in Path("/etc/apt/sources.list.d").glob("debian*.sources"):
            text = re.sub(r"^Types:.*$", "Types: deb-src", source.read_text(), flags=re.MULTILINE)
            (parts / source.name).write_text(text)
        listed = Path("/etc/apt/sources.list")
        if listed.exists():
            text = re.sub(r"^deb ", "deb-src ", listed.read_text(), flags=re.MULTILINE)
            (parts / "machine.list").write_text(text)
        run(["apt-get", "--quiet", *options, "update"])
    return options


DOWNLOADS = {"pypi": download_pypi, "npm": download_npm, "crate": download_crate, "debian": download_debian}


def archive_of(package, downloads):
    """The pinned archive, from an earlier download if there is one."""
    into = downloads / f"{package['registry']}-{package['name']}-{package['version'].replace(':', '_')}"
    if not (into / "archive").exists():
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        archive = DOWNLOADS[package["registry"]](package["name"], package["version"], into)
        (into / "archive").write_text(archive.name)
    archive = into / (into / "archive").read_text()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != package["sha256"]:
        raise PackageError(f"{archive.name} has the sha256 {digest}, and not {package['sha256']}")
    return archive


def unpack(archive, into):
    if archive.suffix == ".dsc":
        # Without Debian's patches: the upstream's own tree.
        run(["dpkg-source", "--no-copy", "--skip-patches", "-x", str(archive), str(into)])
        shutil.rmtree(into / "debian", ignore_errors=True)
        return
    unpacked = into.parent / f"{into.name}.unpacked"
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    (folder,) = [path for path in unpacked.iterdir() if path.is_dir()]
    folder.rename(into)
    shutil.rmtree(unpacked)


def commit(folder, message, force=False):
    """Commits all files; with `force` also those that git ignores."""
    git = ["git", "-C", str(folder), "-c", "user.name=Maintainer", "-c", "user.email=maintainer@example.com",
           "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false"]
    run([*git, "add", "--all", *(["--force"] if force else [])])
    run([*git, "commit", "--quiet", "--allow-empty", "--message", message])


def repository(package, downloads, into):
    """A git repository with the package as its registry has it."""
    shutil.rmtree(into, ignore_errors=True)
    into.parent.mkdir(parents=True, exist_ok=True)
    unpack(archive_of(package, downloads), into)
    with open(into / ".gitignore", "a", encoding="utf-8") as ignored:
        ignored.write(IGNORED[package["registry"]])
    run(["chown", "-R", f"{os.getuid()}:{os.getgid()}", str(into)])
    run(["git", "-C", str(into), "init", "--quiet", "--initial-branch", "main"])
    # A file that upstream ignores and has all the same is part of the package.
    commit(into, f"{package['name']} {package['version']}, as its registry has it", force=True)


def replace(folder, fault):
    """Replaces the text of a fault, which stands exactly once in its file."""
    path = folder / fault["file"]
    text = path.read_text(encoding="utf-8")
    if text.count(fault["before"]) != 1:
        raise PackageError(f"{fault['before']!r} stands {text.count(fault['before'])} times in {fault['file']}")
    path.write_text(text.replace(fault["before"], fault["after"]), encoding="utf-8")
