#!/usr/bin/env python3
"""Runs attacks against the service on this machine, as each user that it may have: root, a user of its own, and root
with a PATH that every user reaches. Prints a table of attacks and hosts, and ends with 1 if an attack gained anything.

    tests/attacks/run.py BIN_DIR [NAME…]    # where `awo`, `awo-local` and `runner` are; names of attacks, all without

Everything happens on loopback. Without root there is one host, the caller's own.
"""

import base64
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from attacks import ATTACKS, PASSES, PASSWORD  # noqa: E402
from host import Host, Server, kinds_of_hosts  # noqa: E402

Scene = namedtuple("Scene", "host provider registry plain")


def attacked(host, provider, registry, chosen):
    """The gain of each attack on a host by its name."""
    scene = Scene(host, provider, registry, host.repository("plain", {"Makefile": PASSES}))
    gains = {}
    for attack in chosen:
        try:
            gain = attack(scene)
        except Exception as why:  # pylint: disable=broad-except
            gain = [f"not tried: {why!r}"]
        gains[attack.__doc__] = gain
        print(f"  {host.name}: {attack.__doc__}: {'; '.join(gain) or 'refused'}", flush=True)
    return gains


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    names = set(sys.argv[2:])
    chosen = [one for one in ATTACKS if not names or one.__name__.removeprefix("attack_") in names]
    results = {}
    with tempfile.TemporaryDirectory(prefix="awo-attacks-") as folder:
        work = Path(folder)
        work.chmod(0o755)
        for number, (name, user, path) in enumerate(kinds_of_hosts()):
            provider = Server()
            pair = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
            registry = Server(credential=f"Basic {pair}")
            host = Host(name, Path(sys.argv[1]).resolve(), work / str(number), provider, user, path)
            try:
                results[name] = attacked(host, provider, registry, chosen)
            finally:
                host.stop()
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
    width = max(len(attack.__doc__) for attack in chosen)
    print("\n" + " " * width + "".join(f" | {name}" for name in results))
    for attack in chosen:
        verdicts = ["GAINED" if results[name][attack.__doc__] else "refused" for name in results]
        columns = "".join(f" | {verdict:{len(name)}}" for verdict, name in zip(verdicts, results))
        print(f"{attack.__doc__:{width}}{columns}")
    sys.exit(any(gain for gains in results.values() for gain in gains.values()))


if __name__ == "__main__":
    main()
