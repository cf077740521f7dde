"""How the pages run in all tests of the apps: as the launcher has them run."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_collection_after_every_run() -> None:
    """As the launcher says: else every run of a page ends with a whole collection, in which pytest's own
    objects cost more than the page.
    """
    from streamlit import config  # noqa: TID251 -- the pages are run as Streamlit runs them

    config.set_option("runner.postScriptGC", False)
