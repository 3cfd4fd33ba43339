"""How the server judges the arguments of a run against the pipeline's parameters."""

from typing import Any

KINDS = {
    "STRING": (str, "string"),
    "BOOLEAN": (bool, "bool"),
    "NUMBER_INTEGER": ((int, float), "integer"),  # 12.5 passes: protobuf has one kind of number
    "NUMBER_DOUBLE": ((int, float), "double"),
    "LIST": (list, "list"),
    "STRUCT": (dict, "struct"),
}


def refusal(spec: dict[str, Any], given: dict[str, Any]) -> str | None:
    """Why the server would not run a pipeline with these arguments."""
    known = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    for name, declared in known.items():
        if name not in given:
            if "defaultValue" not in declared and not declared.get("isOptional"):
                return (
                    f"parameter {name} is not optional, yet has neither default value nor user provided value"
                )
            continue
        value = given[name]
        kind, word = KINDS[declared["parameterType"]]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            return f"input parameter {name} requires type {word}, but the parameter value is not of {word} value type"
        literals = declared.get("literals", [])
        if literals and value not in literals:
            return f'input parameter "{name}" value {value} does not match any of the allowed literal values: {literals}'
    extra = [name for name in given if name not in known]
    if extra:
        return f"parameter {extra[0]} provided is not required by pipeline"
    return None
