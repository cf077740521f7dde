"""How the pages run in all tests of the apps: as the launcher has them run."""

from __future__ import annotations

import pytest

from labeling_ui.launcher import streamlit_options
from labeling_ui.settings import AppName, Settings

AS_LAUNCHED = ("runner.postScriptGC", "runner.magicEnabled", "browser.gatherUsageStats")
"""What costs time at every run of a page unless it is off: a whole collection, in which pytest's own objects
cost more than the page, and a walk through the syntax tree of each page.
"""


@pytest.fixture(scope="session", autouse=True)
def as_launched() -> None:
    """Pages run under the launcher's options."""
    from streamlit import config  # noqa: TID251 -- the pages are run as Streamlit runs them

    options = streamlit_options(Settings(app=AppName.RATE))
    for name in AS_LAUNCHED:
        config.set_option(name, options[name])
