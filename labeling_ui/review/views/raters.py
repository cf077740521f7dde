"""Raters: how a session stands, and how far its raters agree."""

from __future__ import annotations

from labeling_ui.components import notice, show

show(notice("There is no session yet.", "Open one with: voirdire session open"))
