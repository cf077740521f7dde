"""The pages of the review app."""
