"""Reads an export as tools of other people do: the FinOps Foundation's validator, focus-data-toolkit, DuckDB.

    check.py FILE
    check.py --sums FILE

Prints one JSON object: which rules of FOCUS 1.2 failed and how many passed, what the toolkit takes the file
for and makes of it, and DuckDB's sums, as text, exact. With --sums it prints these sums alone.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import duckdb
import focus_validator

BIN = pathlib.Path(sys.executable).parent
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "finance.md"
# The service's part of FOCUS's distinctions. It sells no commitments, capacity or regions.
APPLIES = ",".join(
    [
        "ACCOUNT_NAMING_SUPPORTED",
        "BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED",
        "NEGOTIATED_PRICING_SUPPORTED",
        "PRICING_BILLING_CURRENCY_DIFFERENCES_SUPPORTED",
        "PUBLIC_PRICE_LIST_SUPPORTED",
        "RESOURCE_TYPE_ASSIGNMENT_SUPPORTED",
        "SUB_ACCOUNT_SUPPORTED",
        "TAGGING_SUPPORTED",
        "UNIT_PRICING_SUPPORTED",
        "USAGE_MEASUREMENT_SUPPORTED",
        "VIRTUAL_CURRENCY_SUPPORTED",
    ]
)


def validated(file: str) -> dict:
    # It reads a file of its own by a path that begins where it is installed, and exits 0 whatever it finds.
    installed = pathlib.Path(focus_validator.__file__).parent.parent
    command = [BIN / "focus-validator", "--data-file", file, "--validate-version", "1.2.0.1", "--block-download"]
    done = subprocess.run(
        [*command, "--applicability-criteria", APPLIES, "--show-violations"],
        cwd=installed,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    return {
        "exit": done.returncode,
        "failed": [line for line in lines if "FAIL" in line],
        "passed": sum("PASS" in line for line in lines),
        "error": done.stderr[-2000:] if done.returncode else "",
    }


def migrated(file: str) -> dict:
    """Detects the schema, then converts it to FOCUS 1.4 without adding anything, with its linter on."""
    toolkit = BIN / "focus-toolkit"
    run = lambda *arguments: subprocess.run([toolkit, *arguments], capture_output=True, text=True, timeout=120)
    detected = json.loads(run("detect", file, "--format", "json").stdout)
    with tempfile.TemporaryDirectory() as out:
        done = run("convert", "--cost-and-usage", file, "--out", f"{out}/focus", "--exit-policy", "pipeline")
        rows = 0
        for path in pathlib.Path(out).rglob("*.csv"):
            if "cost" in path.name:
                rows = duckdb.sql(f"SELECT count(*) FROM read_csv('{path}', all_varchar = true)").fetchone()[0]
    return {"detected": detected, "exit": done.returncode, "rows": rows, "output": (done.stdout + done.stderr)[-3000:]}


def in_national_currency(file: str, copy: str) -> str:
    """FOCUS has virtual currencies such as Credits; both tools know national ones alone. Their code for none is XXX."""
    rows = list(csv.DictReader(open(file, newline="")))
    assert rows and all(row["PricingCurrency"] == "Credits" for row in rows)
    with open(copy, "w", newline="") as to:
        writer = csv.DictWriter(to, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "PricingCurrency": "XXX"} for row in rows)
    return copy


def summed(file: str) -> dict:
    """What DuckDB makes of the file, read and divided by team as docs/finance.md says."""
    (documented,) = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    create, by_team = documented.replace("focus.csv", file).strip().rstrip(";").split(";")
    duckdb.sql(create)
    text = lambda query: [[str(cell) if cell is not None else None for cell in row] for row in duckdb.sql(query).fetchall()]
    credits = "sum(PricingCurrencyEffectiveCost)"
    usage = "FROM charges WHERE ChargeCategory = 'Usage'"
    return {
        "rows": text("SELECT count(*) FROM charges"),
        "usage": text(f"SELECT {credits} {usage}"),
        "purchases": text("SELECT sum(PricingQuantity::DECIMAL(38,6)) FROM charges WHERE ChargeCategory = 'Purchase'"),
        "byTenant": text(f"SELECT SubAccountId, {credits} {usage} GROUP BY 1 ORDER BY 1 NULLS FIRST"),
        "byTeam": text(by_team),
        "byModel": text(f"SELECT x_Model, {credits} {usage} GROUP BY 1 ORDER BY 1 NULLS FIRST"),
        "byOutcome": text(f"SELECT x_Outcome, {credits} {usage} GROUP BY 1 ORDER BY 1 NULLS FIRST"),
        "byDay": text(f"SELECT strftime(ChargePeriodStart, '%Y-%m-%d'), {credits} {usage} GROUP BY 1 ORDER BY 1"),
    }


if __name__ == "__main__":
    *sums_only, file = sys.argv[1:]
    if sums_only == ["--sums"]:
        print(json.dumps(summed(file)))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            copy = in_national_currency(file, f"{scratch}/charges.csv")
            print(json.dumps({"validator": validated(copy), "toolkit": migrated(copy), "duckdb": summed(file)}))
