"""What the READMEs say is true: their blocks run, and every command is described."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import blocks, failures
from tests.source_tree import ROOT, repository_files

READMES = [file for file in repository_files() if file.name == "README.md"]


@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.relative_to(ROOT)))
def test_readme_blocks_run(readme: Path, tmp_path: Path) -> None:
    """Every block of the README runs as it stands, in the order in which it is read."""
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


def test_good_readme_has_no_failure(tmp_path: Path) -> None:
    """Blocks of every kind that do what they show are found and pass."""
    assert failures(GOOD, tmp_path) == []
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
def test_bad_block_is_noticed(text: str, said: str, tmp_path: Path) -> None:
    """Each way in which a block can be wrong is said, with its line."""
    assert said in "\n".join(failures(text, tmp_path))
