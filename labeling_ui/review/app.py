"""The review app's frame: which pages there are."""

from __future__ import annotations

import streamlit as st

from labeling_ui.components import page_style

st.set_page_config(page_title="voirdire: review", layout="wide")
page_style()
st.navigation(
    [st.Page("views/raters.py", title="Raters", default=True)],
    position="top",
).run()
