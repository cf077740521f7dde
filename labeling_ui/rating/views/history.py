"""The page of labeling_ui.rating.history, as a file that Streamlit runs."""

from labeling_ui.rating.history import page

if __name__ == "__main__":
    page()
