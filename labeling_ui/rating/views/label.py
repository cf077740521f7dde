"""The page of labeling_ui.rating.label, as a file that Streamlit runs."""

from labeling_ui.rating.label import page

if __name__ == "__main__":
    page()
