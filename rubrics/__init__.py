"""What is asked: rubrics, criteria, verdicts, and the identity of each."""
