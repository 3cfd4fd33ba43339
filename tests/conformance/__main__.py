"""The command: solve and judge every case of a folder, tell each failure, and last how many passed and failed."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance import cases
from conformance.answer import Answer, solved
from conformance.judge import judge


def unsupported(case: Mapping[str, Any]) -> str | None:
    """Why a case is beyond what is built: it may evict, or it asks for parts of GPUs. Nothing else counts."""
    actions = case["policy"]["actions"]
    if actions != ["allocate"]:
        return f"its actions are {', '.join(actions)}"
    if any("gpu_share" in role for gang in case["gangs"] for role in gang["roles"]):
        return "its roles ask for parts of GPUs"
    return None


def main(words: list[str] | None = None, tell: Callable[[str], object] = print) -> int:
    """Run the command; 1 if a case failed."""
    asked = argparse.ArgumentParser(prog="conformance", description=__doc__)
    asked.add_argument("cases", type=Path, help="a folder of case files, or one file")
    asked.add_argument(
        "--skip-unsupported", action="store_true", help="list cases with evictions or parts of GPUs"
    )
    asked.add_argument("--out", type=Path, help="write each answer as ID.json into this folder")
    given = asked.parse_args(words)
    passed = failed = skipped = wishes = 0
    for case in cases.read(given.cases):
        reason = unsupported(case) if given.skip_unsupported else None
        if reason is not None:
            skipped += 1
            tell(f"skipped {case['id']}: {reason}")
            continue
        failures, missed = _tried(case, given.out)
        wishes += len(missed)
        passed, failed = passed + (not failures), failed + bool(failures)
        for failure in failures:
            tell(f"FAILED {case['id']}: {failure}")
        for wish in missed:
            tell(f"wish {case['id']}: {wish}")
    tell(f"{wishes} wishes missed, {skipped} cases skipped")
    tell(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _tried(case: Mapping[str, Any], out: Path | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        answer = solved(case)
        _write(answer, case["id"], out)
        verdict = judge(case, answer)
    except Exception as error:  # noqa: BLE001  # one case that breaks something must not hide the others
        return (f"{type(error).__name__}: {' '.join(str(error).split())}",), ()
    return verdict.failures, verdict.wishes


def _write(answer: Answer, name: str, out: Path | None) -> None:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.json").write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
