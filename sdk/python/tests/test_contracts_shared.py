"""What all contracts share: one engine that ends with the process, and a page that is true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from programs import alive, script

PAGE = Path(__file__).resolve().parent.parent / "docs" / "contracts.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.S | re.M)


def test_all_contracts_share_one_engine_and_it_ends_with_the_process() -> None:
    code = """
        import carboy, os, sys
        from carboy.contracts import *
        from pathlib import Path

        def children():
            return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

        assert children() == []
        run_mod_hook("", {}, {})
        create_sandbox().run_script("1")
        create_sandbox(timeout=1).run_script("1")
        run_under_sandbox(ToolSource("def tool(): pass", "tool"), {}, SandboxPolicy.SUBPROCESS)
        run_node("1")
        carboy.run("1")
        print(*children(), flush=True)
        """
    with script(code) as process:
        out, _ = process.communicate(timeout=20)
    (engine,) = map(int, out.split())
    assert process.returncode == 0 and not alive(engine)


def test_the_examples_of_the_page_do_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not PAGE.exists():
        pytest.skip("the page docs/contracts.md is not beside the tests")
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(PAGE.read_text())
    assert len(examples) >= 4
    for number, (code, said) in enumerate(examples):
        path = tmp_path / f"example_{number}.py"
        path.write_text(code)
        runpy.run_path(str(path))
        assert capsys.readouterr().out == said
