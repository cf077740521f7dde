"""The page of labeling_ui.rating.sign_in, as a file that Streamlit runs."""

from labeling_ui.rating.sign_in import page

if __name__ == "__main__":
    page()
