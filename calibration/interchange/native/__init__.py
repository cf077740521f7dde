"""voirdire's own files: items, labels and verdicts in and out of the evidence store."""
