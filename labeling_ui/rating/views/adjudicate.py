"""The page of labeling_ui.rating.adjudicate, as a file that Streamlit runs."""

from labeling_ui.rating.adjudicate import page

if __name__ == "__main__":
    page()
