"""Reads published documents as tools do that make clients of them.

Called with a directory: every v2*.json and v3*.json in it is checked against the standard, and classes are made
from it and loaded. What the validator has to say is printed, a line of JSON for each complaint; a document that a
generator does not take ends the run with an error.
"""

import importlib
import json
import pathlib
import sys

from datamodel_code_generator import DataModelType, InputFileType, generate
from datamodel_code_generator.format import Formatter
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator


def innermost(error):
    """The complaint that lies deepest: "none of these fits" says little."""
    while error.context:
        error = max(error.context, key=lambda inner: len(inner.absolute_path))
    return error


def check(path, document):
    validator = OpenAPIV2SpecValidator if "swagger" in document else OpenAPIV30SpecValidator
    for error in validator(document).iter_errors():
        error = innermost(error)
        reason = "empty default: " if error.instance == {} and error.validator == "required" else ""
        print(json.dumps({"document": path.stem, "message": reason + error.message}))


def make_classes(path, document):
    # The generator reads v3 as OpenAPI; of v2 it reads the definitions, which are JSON Schema.
    kind = InputFileType.JsonSchema if "swagger" in document else InputFileType.OpenAPI
    name = path.stem.replace(".", "_").replace("-", "_")
    generate(
        path,
        input_file_type=kind,
        output=path.parent / name,
        output_model_type=DataModelType.PydanticV2BaseModel,
        formatters=[Formatter.BUILTIN],
    )
    modules = sorted((path.parent / name).rglob("v1*.py"))
    assert modules, f"nothing was made of {path}"
    for module in modules:
        parts = module.relative_to(path.parent).with_suffix("").parts
        importlib.import_module(".".join(parts))


def main():
    directory = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(directory))
    for path in sorted(directory.glob("v[23]*.json")):
        document = json.loads(path.read_text())
        check(path, document)
        make_classes(path, document)
        print(f"{path.stem}: done", file=sys.stderr)


main()
