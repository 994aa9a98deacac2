"""Reads docs/openapi.json for the tests. It says which operation a path has, and whether a value fits its
schema. It knows those words of JSON Schema that the file uses, and refuses others."""

import json
import pathlib
import re

FILE = pathlib.Path(__file__).parents[3] / "docs" / "openapi.json"
DESCRIPTION = json.loads(FILE.read_text(encoding="utf-8"))
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list,
         "null": type(None)}
NOTES = {"description", "examples", "default", "contentEncoding"}


def find(method, path):
    for template, methods in DESCRIPTION["paths"].items():
        pattern = "/".join("[^/]+" if part.startswith("{") else re.escape(part)
                           for part in template.split("/"))
        if method in methods and re.fullmatch(pattern, path):
            return template, methods[method]
    raise AssertionError(f"{method} {path} is not described")


def resolve(value):
    while "$ref" in value:
        notes = {name: value[name] for name in value if name != "$ref"}
        target = DESCRIPTION
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = {**target, **notes}
    return value


def request(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


def answer(operation, status):
    response = resolve(operation["responses"][str(status)])
    return next(iter(response["content"].values()))["schema"]


def fits(schema, value):
    """Returns why a value does not fit; None: it does."""
    schema = resolve(schema)
    for word, wanted in schema.items():
        fault = RULES[word](wanted, value, schema) if word not in NOTES else None
        if fault is not None:
            return fault
    return None


def is_type(names, value, _):
    names = [names] if isinstance(names, str) else names
    found = any(isinstance(value, TYPES[name]) and
                not (name == "integer" and isinstance(value, bool)) for name in names)
    return None if found else f"{value!r} is not of {names}"


def properties(members, value, schema):
    for name, part in value.items():
        if name in members:
            fault = fits(members[name], part)
            if fault is not None:
                return f"{name}: {fault}"
        elif schema.get("additionalProperties") is False:
            return f"{name} is not described"
    return None


def items(schema, values, _):
    return next((fault for value in values if (fault := fits(schema, value)) is not None), None)


def one_of(schemas, value, _):
    faults = [fits(schema, value) for schema in schemas]
    return None if faults.count(None) == 1 else f"fits {faults.count(None)} of: {faults}"


def all_of(schemas, value, _):
    return next((fault for schema in schemas if (fault := fits(schema, value)) is not None), None)


def holds(condition):
    return lambda wanted, value, _: (
        None if condition(wanted, value) else f"{value!r} is out of {wanted!r}")


RULES = {
    "type": is_type, "properties": properties, "items": items, "oneOf": one_of, "allOf": all_of,
    "additionalProperties": lambda wanted, value, _: None,
    "required": holds(lambda names, value: set(names) <= set(value)),
    "enum": holds(lambda values, value: value in values),
    "pattern": holds(re.search),
    "minimum": holds(lambda least, value: value >= least),
    "maximum": holds(lambda most, value: value <= most),
    "minLength": holds(lambda least, value: len(value) >= least),
    "maxLength": holds(lambda most, value: len(value) <= most),
    "minItems": holds(lambda least, value: len(value) >= least),
    "maxItems": holds(lambda most, value: len(value) <= most),
}


def check(test, schema, value):
    fault = fits(schema, value)
    test.assertIsNone(fault, fault)
