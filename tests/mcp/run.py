#!/usr/bin/env python3
"""Lets the official clients of the Model Context Protocol use the service on this machine: the one for Python
(2026-07-28, over HTTP and through `awo mcp`), the one for TypeScript (2026-07-28), and the one before it (2025-11-25).

    tests/mcp/run.py BIN_DIR TOOLS_DIR    # where `awo`, `awo-local` and `runner` are; where clients are kept

Each discovers the tools, submits a work order, waits for its end, and reads its checks and its diff.
"""

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
from run import Service, run  # noqa: E402

PYTHON_TOOLS = ["mcp==2.3.0"]


def tools(folder):
    """A virtual environment and a folder of npm's with the clients, made once."""
    ready = folder / "ready"
    wanted = "\n".join(PYTHON_TOOLS) + (HERE / "package.json").read_text()
    if not ready.exists() or ready.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run([sys.executable, "-m", "venv", str(folder / "venv")])
        run([str(folder / "venv/bin/pip"), "install", "--quiet", *PYTHON_TOOLS])
        shutil.copy(HERE / "package.json", folder)
        run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel", "error"])
        ready.write_text(wanted)
    # A module finds its packages beside itself.
    shutil.copy(HERE / "scenario.mjs", folder)
    return folder


def main():
    bin_dir, tool_dir = Path(sys.argv[1]).resolve(), tools(Path(sys.argv[2]).resolve())
    folder = Path(tempfile.mkdtemp(prefix="awo-mcp."))
    service = Service(bin_dir, folder)
    try:
        python = [str(tool_dir / "venv/bin/python"), str(HERE / "scenario.py")]
        node = ["node", str(tool_dir / "scenario.mjs")]
        for command in ([*python, "http"], [*python, "stdio"], [*node, "2026-07-28"], [*node, "2025-11-25"]):
            service(command, env={"AWO": str(bin_dir / "awo")})
    finally:
        service.stop()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
