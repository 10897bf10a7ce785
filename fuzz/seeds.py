#!/usr/bin/env python3
"""Makes small corpora for the CEL targets from the rules that tests and conformance cases have.

    fuzz/seeds.py            writes fuzz/corpus/<target>/
    cargo +nightly fuzz run cel_parse

Conformance cases are found through PLEACH_SHARED or ../shared, and are left out if absent.
"""

import hashlib
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHARED = pathlib.Path(os.environ.get("PLEACH_SHARED", HERE.parent.parent / "shared"))
MOST = 1500


def rules(node):
    """All rules and message expressions in a JSON document."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("rule", "messageExpression", "expr") and isinstance(value, str):
                yield value
            else:
                yield from rules(value)
    elif isinstance(node, list):
        for value in node:
            yield from rules(value)
    elif isinstance(node, str) and "x-kubernetes-validations" in node:
        try:
            yield from rules(json.loads(node))
        except ValueError:
            pass


def sources():
    tables = HERE.parent / "crates/pleach-cel/tests/data"
    for table in sorted(tables.glob("*.jsonl")):
        for line in table.read_text().splitlines():
            yield from rules(json.loads(line))
    cases = SHARED / "conformance/cases"
    if not cases.exists():
        print(f"SKIPPED: {cases} is not there; set PLEACH_SHARED", file=sys.stderr)
    for case in sorted(cases.rglob("*.json")):
        yield from rules(json.loads(case.read_text()))


def main():
    found = sorted({source for source in sources() if len(source) < 400})
    # An even choice, the same every time.
    found.sort(key=lambda source: hashlib.sha256(source.encode()).digest())
    # What stands around the source: the version, the environment, whether objects fit and those.
    around = {"cel_parse": (b"\x0b", b""), "cel_check": (b"\x01", b""), "cel_eval": (b"\x00", b"\x0f" * 64)}
    for target, (head, tail) in around.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for source in found[:MOST]:
            data = head + b"\x00" + source.encode() + tail
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        print(f"{folder}: {min(len(found), MOST)} seeds")


if __name__ == "__main__":
    main()
