"""The page docs/repositories.md: one row for each package of the manifest."""

INTRODUCTION = """\
# Real repositories

Measured results of `make bench-repositories`: packages from PyPI, npm, crates.io and Debian that were not made for this
project, pinned by hash in `tests/repositories/manifest.toml`. Each has the commands that a maintainer would run and their
true verdict. Nothing is configured: there is no `verify.yaml`. Rows that are wrong stay in the table.

| column | content |
|---|---|
| plan | ✓ if the derived plan has the maintainer's commands in their order, ✗ if it has others, – if nothing is derived |
| true verdict | of the maintainer's commands in a clean clone on the same machine |
| verdict | of `awo verify`; ✓ if it agrees |
| bare, awo | seconds of the maintainer's commands and of `awo verify`, installation included |
| fault | a seeded fault through a local service: **f**ound by the first verification, fed **b**ack to the agent, fixed and **v**erified in the second iteration, **d**elivered; – for a stage that was not reached |

The agent is an oracle: it applies the fix once its prompt reports the failure, so the column measures the service and no model.
"""
AGREES = {"passed": ["verified"], "unverified": ["unverified"], "failed": ["failed"], "error": ["error"],
          "timeout": ["error", "failed"]}
LETTERS = {"found": "f", "fed_back": "b", "fixed": "v", "delivered": "d"}


def true_verdict(package, result):
    """The manifest's word where the machine's is the same kind, else what the machine measured."""
    measured = result["bare"]["verdict"]
    expected = package["verdict"]
    return expected if measured == ("passed" if expected in ("passed", "unverified") else "failed") else measured


def judged(package, result):
    """Whether plan and verdict are right."""
    awo = result["awo"]
    return awo["right_plan"], awo["verdict"] in AGREES[true_verdict(package, result)]


def fault(result):
    seeded = result.get("seeded")
    if not seeded:
        return ""
    return "".join(letter if seeded[stage] else "–" for stage, letter in LETTERS.items())


def line(package, result):
    where = f"| {package['language']} | {package['name']} {package['version']} | {package['registry']} "
    if "unavailable" in result:
        return where + "| not to be had | | | | | | |"
    right_plan, right_verdict = judged(package, result)
    plan = "–" if not result["awo"]["plan"] else "✓" if right_plan else "✗"
    verdict = f"{result['awo']['verdict']} {'✓' if right_verdict else '✗'}"
    maintainer = package.get("shown", package["maintainer"]).replace("|", "\\|")
    return (f"{where}| `{maintainer}` | {plan} | {true_verdict(package, result)} | {verdict} "
            f"| {result['bare']['seconds']:.1f} | {result['awo']['seconds']:.1f} | {fault(result)} |")


def page(manifest, results):
    measured = [package for package in manifest if package["name"] in results]
    available = [package for package in measured if "unavailable" not in results[package["name"]]]
    judgements = [judged(package, results[package["name"]]) for package in available]
    faults = [fault(results[package["name"]]) for package in available if "fault" in package]
    dates = sorted({results[package["name"]]["date"] for package in measured})
    rows = [line(package, results[package["name"]]) for package in measured]
    reasons = [f"- **{package['name']}**: {package['reason']}" for package in measured if package.get("reason")]
    summary = (
        f"Measured {' to '.join(dict.fromkeys([dates[0], dates[-1]])) if dates else 'never'}: "
        f"{len(available)} of {len(manifest)} packages; plan right in {sum(plan for plan, _ in judgements)}, "
        f"verdict right in {sum(verdict for _, verdict in judgements)}; fault found, fed back, fixed and delivered in "
        f"{sum(stages == 'fbvd' for stages in faults)} of {len(faults)}.")
    head = ("| language | package | registry | a maintainer runs | plan | true verdict | verdict | bare s | awo s | fault |\n"
            "|---|---|---|---|---|---|---|--:|--:|---|")
    return "\n".join([INTRODUCTION, summary, "", head, *rows, "", "Why a verdict is as it is:", "", *reasons, ""])
