"""What an app is started with, and what keeps it from starting."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit import config  # noqa: TID251 -- the apps' tests look at their library

from labeling_ui import launcher
from labeling_ui.launcher import (
    OPERATIONAL,
    address_of,
    main,
    report_script_error,
    require_libraries,
    streamlit_options,
    with_port,
)
from labeling_ui.settings import AppName, Settings, SignIn, read
from rubrics.errors import DeclarationError, StoreError

LOCAL = Settings(app=AppName.RATE)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_streamlit_knows_every_option() -> None:
    """An option that a release renames would silently stay open."""
    options = streamlit_options(LOCAL)
    assert [name for name in options if name not in config._config_options_template] == []
    assert not any(config._config_options_template[name].sensitive for name in options)


def test_what_is_open_by_default_is_closed() -> None:
    """Statistics, error details and links, agents, magic, foreign frames, watchers, uploads."""
    options = streamlit_options(LOCAL)
    assert options["browser.gatherUsageStats"] is False
    assert options["client.showErrorDetails"] == "none"
    assert options["client.showErrorLinks"] is False
    assert options["client.allowedOrigins"] == []
    assert options["server.address"] == "127.0.0.1"
    assert options["server.allowedHosts"] == ["localhost", "127.0.0.1", "[::1]"]
    assert options["server.enableAgentApi"] is False
    assert options["server.fileWatcherType"] == "none"
    assert options["server.maxUploadSize"] <= 20
    assert options["server.maxMessageSize"] <= 20
    assert options["server.trustedUserHeaders"] == {}
    assert options["runner.magicEnabled"] is False


def test_nothing_holds_up_the_sending_of_a_page() -> None:
    """A collection of all garbage after every run takes 50 ms in which the next item waits."""
    assert streamlit_options(LOCAL)["runner.postScriptGC"] is False


def test_header_of_a_proxy_is_trusted_only_where_it_was_asked_for() -> None:
    """Only the mode `proxy` reads a name from a header."""
    proxied = Settings(app=AppName.RATE, sign_in=SignIn.PROXY, proxy_header="X-User")
    assert streamlit_options(proxied)["server.trustedUserHeaders"] == {"X-User": "email"}


def test_port_that_is_taken_is_named(taken: int) -> None:
    """The sentence says which port, and how to get another."""
    with pytest.raises(DeclarationError, match=rf"port {taken} .*--port 0"):
        with_port(LOCAL.model_copy(update={"port": taken}))


def test_any_free_port_is_found() -> None:
    """Port 0 becomes the number of a free one, which stands in the address."""
    settings = with_port(LOCAL)
    assert settings.port > 0
    assert address_of(settings) == f"http://127.0.0.1:{settings.port}/"
    assert address_of(Settings(app=AppName.RATE, address="::1", port=5)) == "http://[::1]:5/"


@pytest.mark.parametrize(("missing", "said"), [("streamlit", "streamlit"), ("authlib", r"voirdire\[oidc\]")])
def test_missing_library_is_named(missing: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install stands in the sentence."""
    monkeypatch.setattr(launcher, "find_spec", lambda name: None if name == missing else object())
    settings = LOCAL.model_copy(update={"sign_in": SignIn.OIDC})
    with pytest.raises(DeclarationError, match=said):
        require_libraries(settings)


def test_refusal_is_one_sentence_and_three(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A store that cannot be opened, or an address that may not be: code 3 and one line."""
    monkeypatch.setattr(launcher, "serve", lambda settings: pytest.fail("served"))
    folder = tmp_path / "folder.db"
    folder.mkdir()
    assert main(["rate", "--db", str(folder)]) == OPERATIONAL
    monkeypatch.setenv("VOIRDIRE_UI_ADDRESS", "0.0.0.0")
    assert main(["review"]) == OPERATIONAL
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("voirdire: ") for line in lines)


def test_error_of_a_page_is_told_to_the_operator_without_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal gets the cause, with what could drive it made visible; the page gets an apology."""
    said: list[str] = []
    monkeypatch.setattr("labeling_ui.components.apologise", lambda: said.append("sorry"))
    assert report_script_error(StoreError("bad \x1b[2J text"))
    told = capsys.readouterr().err
    assert "bad <U+001B>[2J text" in told
    assert "\x1b" not in told
    assert said == ["sorry"]


def test_child_sees_the_address_of_the_store_in_its_environment() -> None:
    """VOIRDIRE_DB is where the command line puts it, so that no password stands on a command line."""
    assert read(AppName.RATE, {"VOIRDIRE_DB": "postgresql://u:p@h/d"}).db == "postgresql://u:p@h/d"
