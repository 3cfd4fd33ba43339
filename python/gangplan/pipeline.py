"""Pipelines: the compiled ones that the package carries, compiling, and running one on this machine.

The only user of kfp (extra ``pipelines``).
"""

import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, TextIO, cast

import yaml

from gangplan.errors import InvalidInput, Problem
from gangplan.extras import needed

_TYPES = {
    "NUMBER_INTEGER": int,
    "NUMBER_DOUBLE": float,
    "STRING": str,
    "BOOLEAN": bool,
    "LIST": list,
    "STRUCT": dict,
}


ARGUMENT_LIMIT = 100_000
"""Bytes that a run's arguments may have together: KFP hands them to a step as one argument, of which Linux takes 128
KiB, and puts the outputs' paths beside them."""

PART_LIMIT = 100_000
"""Bytes that a component or an executor may have as JSON. The server takes more, but the driver of the step gets it as
one argument, of which Linux takes 128 KiB, and would not start."""

_WORDS = {
    int: "a whole number such as 3",
    float: "a finite number such as 0.5",
    bool: "true or false",
    list: "a list as JSON such as [1, 2]",
    dict: 'a mapping as JSON such as {"a": 1}',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a compiled pipeline.

    Attributes:
        name: Its name.
        kind: ``int``, ``float``, ``str``, ``bool``, ``list`` or ``dict``.
        default: Its default; None: it must be given, unless it is optional.
        text: What it means.
        choices: All values that it may have; empty: any of its kind.
        optional: Whether a step copes without it. KFP's local runner does not.
    """

    name: str
    kind: type
    default: Any
    text: str
    choices: tuple[Any, ...] = ()
    optional: bool = False


def packaged(name: str) -> Path:
    """Find a compiled pipeline that the package carries.

    Raises:
        InvalidInput: There is none of this name.
    """
    there = {path.stem: path for path in all_packaged()}
    if name not in there:
        known = ", ".join(there) or "none"
        raise InvalidInput(
            [Problem("pipeline", "UNKNOWN_NAME", f"there is no {name!r}; known: {known}")], "pipeline"
        )
    return there[name]


def all_packaged() -> tuple[Path, ...]:
    """The compiled pipelines that the package carries, by name."""
    return tuple(sorted(Path(str(files("gangplan") / "compiled")).glob("*.yaml")))


def compile_pipeline(
    function: Any, path: Path, *, choices: Mapping[str, Sequence[str | int]] = MappingProxyType({})
) -> None:
    """Compile a pipeline function to YAML: the same function and versions give the same bytes.

    Args:
        function: A function that ``kfp.dsl.pipeline`` decorated.
        path: The file to write.
        choices: All values that a parameter may have, by its name; the run form offers them and the server takes no
            other. KFP's SDK cannot say this itself: it refuses ``typing.Literal``. A name that the pipeline does not
            have is passed over.

    Raises:
        InvalidInput: The driver of a step could not be started, see :data:`PART_LIMIT`.
    """
    with needed("pipelines"):
        from kfp import compiler  # noqa: PLC0415 - takes a second to import

    declared = function.pipeline_spec.root.input_definitions.parameters
    for name in choices.keys() & set(declared):
        literals = declared[name].literals
        del literals[:]
        for value in choices[name]:
            literals.add(**{"number_value" if isinstance(value, int) else "string_value": value})
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = Path(folder) / "pipeline.yaml"
        compiler.Compiler().compile(function, str(fresh))
        if problems := too_large(_spec(fresh)):
            raise InvalidInput(problems, path.name)
        path.write_bytes(fresh.read_bytes())


def too_large(spec: Mapping[str, Any]) -> list[Problem]:
    """List the parts of a compiled pipeline that are too long to be handed to their driver."""
    parts = {
        "$.root": spec["root"],
        **{f"$.components.{name}": part for name, part in spec.get("components", {}).items()},
        **{
            f"$.deploymentSpec.executors.{name}": part
            for name, part in spec["deploymentSpec"].get("executors", {}).items()
        },
    }
    sizes = {path: len(json.dumps(part).encode()) for path, part in parts.items()}
    return [
        Problem(path, "OUT_OF_RANGE", f"is {size} bytes long, and may have {PART_LIMIT}: move data to a file")
        for path, size in sorted(sizes.items())
        if size > PART_LIMIT
    ]


def parameters(package: Path) -> dict[str, Parameter]:
    """List the parameters of a compiled pipeline, by name.

    Raises:
        InvalidInput: The file is no compiled pipeline.
        OSError: It cannot be read.
    """
    found = _spec(package)["root"].get("inputDefinitions", {}).get("parameters", {})
    return {
        name: Parameter(
            name=name,
            kind=_TYPES.get(item["parameterType"], str),
            default=_plain(item, item.get("defaultValue")),
            text=item.get("description", "").strip(),
            choices=tuple(_plain(item, value) for value in item.get("literals", [])),
            optional=bool(item.get("isOptional")),
        )
        for name, item in sorted(found.items())
    }


def _spec(package: Path) -> dict[str, Any]:
    def refuse(message: str) -> InvalidInput:
        return InvalidInput([Problem("$", "BAD_VALUE", message)], str(package))

    try:
        with package.open(encoding="utf-8") as file:
            spec = next(yaml.load_all(file, Loader=yaml.CSafeLoader), None)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise refuse(f"is not YAML: {error}") from error
    if not (isinstance(spec, dict) and isinstance(spec.get("root"), dict) and "deploymentSpec" in spec):
        raise refuse("is no compiled pipeline: it has no root and no deploymentSpec")
    return spec


def _plain(item: Mapping[str, Any], value: Any) -> Any:
    """KFP writes whole numbers as 2.0, also those in lists and mappings."""
    if item["parameterType"] == "NUMBER_INTEGER":
        return None if value is None else int(value)
    return _whole(value) if item["parameterType"] in {"LIST", "STRUCT"} else value


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_arguments(
    package: Path, given: Mapping[str, str], *, local: bool = True, judged_later: Collection[str] = ()
) -> dict[str, Any]:
    """Turn arguments from a command line into values of the pipeline's parameters.

    Args:
        package: The compiled pipeline.
        given: The arguments as they were written.
        local: Whether they are for KFP's local runner, which wants optional ones too.
        judged_later: Parameters whose choices somebody else judges, together with what else is wrong with them.

    Raises:
        InvalidInput: Unknown names or values of the wrong type; all of them are named.
    """
    known = parameters(package)
    values: dict[str, Any] = {}
    problems = []
    for name, text in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            problems.append(Problem(name, "UNKNOWN_NAME", f"is no parameter; {hint}"))
            continue
        try:
            values[name] = _value(known[name].kind, text)
        except ValueError:
            wanted = _WORDS.get(known[name].kind, "text")
            problems.append(Problem(name, "WRONG_TYPE", f"must be {wanted}, not {text!r}"))
            continue
        choices = () if name in judged_later else known[name].choices
        if choices and values[name] not in choices:
            words = ", ".join(map(str, choices))
            problems.append(Problem(name, "BAD_VALUE", f"must be one of {words}, not {text!r}"))
    sizes = {name: len(json.dumps(text).encode()) for name, text in given.items()}
    if sum(sizes.values()) > ARGUMENT_LIMIT:
        largest = max(sizes, key=lambda name: sizes[name])
        message = (
            f"is {sizes[largest]} bytes long; all together may have at most {ARGUMENT_LIMIT}: point to a file"
        )
        problems.append(Problem(largest, "OUT_OF_RANGE", message))
    missing = [
        name
        for name, item in known.items()
        if item.default is None and name not in given and (local or not item.optional)
    ]
    problems += [Problem(name, "MISSING_FIELD", "must be given") for name in missing]
    if problems:
        raise InvalidInput(problems, "pipeline arguments")
    return values


def _no_number(word: str) -> None:
    """NaN and Infinity are none of JSON's, though Python reads them."""
    raise ValueError(word)


def _value(kind: type, text: str) -> Any:
    if kind is bool:
        if text.lower() not in {"true", "false"}:
            raise ValueError
        return text.lower() == "true"
    if kind in {list, dict}:
        value = json.loads(text, parse_constant=_no_number)
        if not isinstance(value, kind):
            raise ValueError
        return value
    if kind is float and not math.isfinite(float(text)):
        raise ValueError
    return kind(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """How a run on this machine ended.

    Attributes:
        succeeded: Whether every step did.
        failed_step: Name of the step that failed, where one did.
    """

    succeeded: bool
    failed_step: str


def run_local(
    package: Path,
    arguments: Mapping[str, Any],
    *,
    outputs: Path,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
) -> LocalRun:
    """Run a compiled pipeline with KFP's local runner, each step in a process of its own.

    Args:
        package: The compiled pipeline.
        arguments: Values of its parameters; the others keep their defaults.
        outputs: Folder for the steps' outputs.
        environment: Variables for the steps.
        tell: Gets each line that KFP or a step prints.

    Raises:
        ConfigError: kfp is not installed.
        KeyboardInterrupt: Ctrl-C; a step may still run, the caller ends it.
    """
    with needed("pipelines"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from kfp import components, local  # noqa: PLC0415 - takes a second to import

    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        with _lines(tell) as stream, contextlib.redirect_stdout(stream), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            local.init(
                runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(outputs), raise_on_error=True
            )
            pipeline = components.load_component_from_file(str(package))
            try:
                pipeline(**arguments)
            except RuntimeError as error:
                return LocalRun(succeeded=False, failed_step=_failed_step(error))
        return LocalRun(succeeded=True, failed_step="")
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _failed_step(error: RuntimeError) -> str:
    """KFP says it as text: "… Inner task failed: 'conclude'…"."""
    _, _, rest = str(error).partition("ask failed: ")
    return rest.split("'")[1] if rest.count("'") > 1 else ""


@contextlib.contextmanager
def _lines(tell: Callable[[str], None]) -> Iterator[TextIO]:
    """A text stream that hands on whole lines."""

    class Lines:
        encoding = "utf-8"
        rest = ""

        def write(self, text: str) -> int:
            *lines, self.rest = (self.rest + text).split("\n")
            for line in lines:
                tell(line)
            return len(text)

        def flush(self) -> None:
            sys.stderr.flush()

        def isatty(self) -> bool:
            return False

    yield cast(TextIO, Lines())
