"""The review app: for leads and reviewers, in a process of its own."""
