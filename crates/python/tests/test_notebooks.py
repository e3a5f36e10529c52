"""The notebooks of `examples/notebooks` run from a fresh process, and are stored without outputs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[3] / "examples/notebooks"

# What Jupyter does with a notebook: one cell after the other, and the value of a cell's last line is shown.
RUNNER = """
import ast, json, sys
scope = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"], 1):
    if cell["cell_type"] == "code":
        tree, last = ast.parse("".join(cell["source"])), None
        if isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, f"cell {number}", "exec"), scope)
        if last is not None:
            value = eval(compile(last, f"cell {number}", "eval"), scope)
            print(getattr(value, "_repr_html_", value.__repr__)())
"""


def notebooks() -> list[Path]:
    found = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    command = [sys.executable, "-P", "-c", RUNNER, str(notebook)]
    ended = subprocess.run(command, cwd=NOTEBOOKS, capture_output=True, encoding="utf-8", timeout=90)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert "<table" in ended.stdout, "no data frame is shown"


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(notebook: Path) -> None:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
