"""Who assesses: the rating app and the review app."""
