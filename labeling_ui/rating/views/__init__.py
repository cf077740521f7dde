"""The pages of the rating app, one file each."""
