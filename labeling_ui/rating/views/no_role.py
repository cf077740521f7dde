"""What someone sees who may do nothing here yet."""

from labeling_ui.rating.interludes import plain_page

plain_page("Nothing for you here yet.", "An admin gives you the role of a rater or an adjudicator.")
