"""The page docs/repositories.md: one row for each package of the manifest."""

INTRODUCTION = """\
# Real repositories

Measured results of `make bench-repositories`: packages from PyPI, npm, crates.io and Debian that were not made for this
project, pinned by hash in `tests/repositories/manifest.toml`. Each has the commands that a maintainer would run and their
true verdict. Nothing is configured: there is no `verify.yaml`. Rows that are wrong stay in the table.

| column | content |
|---|---|
| plan | ✓ if the derived plan has the maintainer's commands in their order, ✗ if it has others, – if nothing is derived |
| true verdict | of the maintainer's commands in a clean clone on the same machine. `unverified`: they pass and run no test; `uncounted`: they pass and print no number of tests |
| verdict | of `awo verify`; ✓ if it agrees. What is uncounted passes as `unverified` |
| install s | seconds of the installation: the maintainer's / of `awo verify` |
| tests s | seconds of all the rest: the maintainer's commands / `awo verify` with its own work |
| CPU × | CPU time of `awo verify` as a multiple of the maintainer's, installation included |
| fault | a seeded fault through a local service: **f**ound by the first verification, fed **b**ack to the agent, fixed and **v**erified in the second iteration, **d**elivered; – for a stage that was not reached, empty where no fault was seeded |

Times are of one run on a machine of two cores that other work shared, both sides at the same priority (niceness 10) and with
the downloads of earlier installations; CPU time is the fairer measure there. The maintainer's commands need dpkg-dev, cmake,
autoconf, automake, libtool, golang-go, ruby-rspec, phpunit and maven of Debian; without one a true verdict is `failed`.

The agent is an oracle: it applies the fix once its prompt reports the failure, so the column measures the service and no model.
"""
AGREES = {"passed": ["verified"], "unverified": ["unverified"], "uncounted": ["unverified"], "failed": ["failed"],
          "error": ["error"], "timeout": ["error", "failed"]}
PASSES = ("passed", "unverified", "uncounted")
LETTERS = {"found": "f", "fed_back": "b", "fixed": "v", "delivered": "d"}


def true_verdict(package, result):
    """The manifest's word where the machine's is the same kind, else what the machine measured."""
    measured = result["bare"]["verdict"]
    expected = package["verdict"]
    return expected if measured == ("passed" if expected in PASSES else "failed") else measured


def judged(package, result):
    """Whether plan and verdict are right."""
    awo = result["awo"]
    return awo["right_plan"], awo["verdict"] in AGREES[true_verdict(package, result)]


def ratio(result):
    """CPU time as a multiple of the maintainer's."""
    return result["awo"]["cpu"] / max(result["bare"]["cpu"], 0.01)


def fault(result):
    seeded = result.get("seeded")
    if not seeded:
        return ""
    return "".join(letter if seeded[stage] else "–" for stage, letter in LETTERS.items())


def line(package, result):
    where = f"| {package['language']} | {package['name']} {package['version']} | {package['registry']} "
    if "unavailable" in result:
        return where + "| not to be had | | | | | | | |"
    right_plan, right_verdict = judged(package, result)
    bare, awo = result["bare"], result["awo"]
    plan = "–" if not awo["plan"] else "✓" if right_plan else "✗"
    plan = "– ✓" if right_plan and not awo["plan"] else plan
    verdict = f"{awo['verdict']} {'✓' if right_verdict else '✗'}"
    commands = " && ".join(package[part] for part in ["install", "maintainer"] if part in package)
    maintainer = package.get("shown", commands).replace("|", "\\|")
    install = f"{bare['install']:.1f} / {awo['install']:.1f}" if bare["install"] or awo["install"] else ""
    return (f"{where}| `{maintainer}` | {plan} | {true_verdict(package, result)} | {verdict} | {install} "
            f"| {bare['seconds']:.1f} / {awo['seconds']:.1f} | {ratio(result):.2f} | {fault(result)} |")


def of_passing(package, result):
    """True for a row whose commands all ran: one that ends early on either side has no times to compare."""
    return true_verdict(package, result) in PASSES and all(judged(package, result))


def page(manifest, results):
    measured = [package for package in manifest if package["name"] in results]
    available = [package for package in measured if "unavailable" not in results[package["name"]]]
    judgements = [judged(package, results[package["name"]]) for package in available]
    faults = [fault(results[package["name"]]) for package in available if "seeded" in results[package["name"]]]
    dates = sorted({results[package["name"]]["date"] for package in measured})
    rows = [line(package, results[package["name"]]) for package in measured]
    reasons = [f"- **{package['name']}**: {package['reason']}" for package in measured if package.get("reason")]
    advice = [f"- **{package['name']}**: {results[package['name']]['awo']['advice'].splitlines()[0]}"
              for package in available if results[package["name"]]["awo"].get("advice")]
    compared = [results[package["name"]] for package in available if of_passing(package, results[package["name"]])]
    ratios = sorted(ratio(result) for result in compared)
    total = sum(result["awo"]["cpu"] for result in compared) / max(sum(result["bare"]["cpu"] for result in compared), 0.01)
    summary = (
        f"Measured {' to '.join(dict.fromkeys([dates[0], dates[-1]])) if dates else 'never'}: "
        f"{len(available)} of {len(manifest)} packages; plan right in {sum(plan for plan, _ in judgements)}, "
        f"verdict right in {sum(verdict for _, verdict in judgements)}; fault found, fed back, fixed and delivered in "
        f"{sum(stages == 'fbvd' for stages in faults)} of {len(faults)}. CPU time of the {len(compared)} packages that pass "
        f"on both sides: {total:.2f}× the maintainers' in all, median {ratios[len(ratios) // 2] if ratios else 0:.2f}×.")
    head = ("| language | package | registry | a maintainer runs | plan | true verdict | verdict | install s | tests s | CPU × "
            "| fault |\n|---|---|---|---|---|---|---|---|---|--:|---|")
    advised = ["Where nothing could be derived, `awo verify` shows what it saw:", "", *advice, ""] if advice else []
    return "\n".join([INTRODUCTION, summary, "", head, *rows, "", *advised, "Why a verdict is as it is:", "", *reasons, ""])
