"""What the READMEs say is true: their blocks run, and every command is described."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import typer

from judge.cli.main import app
from tests.readme import Warm, blocks, failures, warm_process
from tests.source_tree import ROOT, repository_files


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    """One process for the commands of all READMEs; a socket's path may not be long."""
    with TemporaryDirectory() as folder, warm_process(Path(folder)) as process:
        yield process


READMES = [file for file in repository_files() if file.name == "README.md"]


@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.relative_to(ROOT)))
def test_readme_blocks_run(readme: Path, tmp_path: Path, warm: Warm) -> None:
    """Every block of the README runs as it stands, in the order in which it is read."""
    assert failures(readme.read_text(encoding="utf-8"), tmp_path, warm) == []


@pytest.mark.slow
@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.relative_to(ROOT)))
def test_readme_blocks_run_as_installed(readme: Path, tmp_path: Path) -> None:
    """The same with the installed command, an interpreter for each."""
    assert failures(readme.read_text(encoding="utf-8"), tmp_path) == []


GOOD = """
Some text.

```sh
echo one >file
```

```console
$ cat file
one
$ seq 1 9 | head -n 4 && echo \\
  more words
1
...
more ...
```

```python
assert open("file").read() == "one\\n"
```

<!-- exit 3 -->
```sh
exit 3
```

<!-- not run: needs a key -->
```sh
exit 9
```

```json
{"a": [1]}
```
"""


@pytest.mark.parametrize("started", ["warm", "cold"])
def test_good_readme_has_no_failure(started: str, tmp_path: Path, warm: Warm) -> None:
    """Blocks of every kind that do what they show are found and pass."""
    assert failures(GOOD, tmp_path, warm if started == "warm" else None) == []
    assert [block.language for block in blocks(GOOD)] == ["sh", "console", "python", "sh", "sh", "json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nfalse\necho late\n```\n", "line 1, sh: ended with 1 and not 0"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\nif:\n```\n", "SyntaxError"),
        ("\n\n```console\n$ echo two\nthree\n```\n", "line 3, console: `echo two` printed"),
        ("```console\necho no prompt\n```\n", "begin with a line"),
        ("<!-- exit 3 -->\n```sh\ntrue\n```\n", "ended with 0 and not 3"),
        ("<!-- not run: -->\n```sh\nexit 5\n```\n", "ended with 5"),
        ("```\nvoirdire check\n```\n", "name one of"),
        ("```bash\ntrue\n```\n", "name one of"),
        ("```json\n{'a': 1}\n```\n", "cannot be read"),
        ("```yaml\na: [1\n```\n", "cannot be read"),
        ("text\n```sh\ntrue\n", "not closed"),
        ("- item\n  ```sh\n  false\n  ```\n", "at the start of a line"),
        ("~~~sh\nfalse\n~~~\n", "at the start of a line"),
    ],
)
def test_bad_block_is_noticed(text: str, said: str, tmp_path: Path, warm: Warm) -> None:
    """Each way in which a block can be wrong is said, with its line."""
    assert said in "\n".join(failures(text, tmp_path, warm))


@pytest.mark.parametrize("started", ["warm", "cold"])
def test_a_command_ends_and_prints_alike_however_it_is_started(
    started: str, tmp_path: Path, warm: Warm
) -> None:
    """Exit code, both outputs, input, folder and environment are those of a process of its own."""
    text = """
<!-- exit 3 -->
```sh
voirdire check nothing.csv >out 2>err
```

```sh
test ! -s out && grep -q nothing.csv err
printf 'id,human_label,judge_label\\n1,pass,pass\\n2,fail,fail\\n' | voirdire check - --json | grep -q far
test "$(voirdire --help | head -n 1 | wc -l)" = 1
```

```python
import os, sys
assert os.environ["HOME"] == os.getcwd() and sys.argv == ["-c"] and __name__ == "__main__"
sys.exit(0)
```
"""
    assert failures(text, tmp_path, warm if started == "warm" else None) == []


# -- the command line


def commands(group: Any = None, path: str = "voirdire") -> Iterator[tuple[str, Any]]:
    """Every command that can be typed, by its full name."""
    group = group or typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_commands_are_found() -> None:
    """The walk over the command line finds at least the command that everything starts with."""
    assert "voirdire check" in dict(commands())


def test_every_command_has_help() -> None:
    """Each command says what it does, and what each of its options and arguments means."""
    silent = [name for name, command in commands() if not (command.help or "").strip()]
    for name, command in commands():
        parameters = (each for each in command.params if not (getattr(each, "help", "") or "").strip())
        silent += [f"{name} {each.name}" for each in parameters]
    assert silent == []


def test_every_command_is_documented() -> None:
    """Each command appears in a README, under the name by which it is typed."""
    texts = re.sub(r"\s+", " ", " ".join(file.read_text(encoding="utf-8") for file in READMES))
    told = {
        name: rf"\bvoirdire( -\S+ \S+)* {re.escape(name.removeprefix('voirdire '))}\b"
        for name, _ in commands()
    }
    assert [name for name, typed in told.items() if not re.search(typed, texts)] == []
