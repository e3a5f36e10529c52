"""The examples of the documentation run."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["docs/python.md", "crates/python/README.md"])
def test_examples_run(page: str, capture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(capture, tmp_path / "capture.pcap")
    (tmp_path / "captures").mkdir()
    shutil.copy(capture, tmp_path / "captures/one.pcap")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec"), {})
