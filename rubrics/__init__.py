"""What is asked: rubrics, criteria, verdicts, and the identity of each.

Front doors: `rubrics.rubric` (Rubric, Criterion), `rubrics.item` (Item), `rubrics.loader` (files and
the catalog), `rubrics.diff` (two versions), `rubrics.verdict` (the four-verdict rule). Nothing is
re-exported here, so that the verdict words alone cost no more than the standard library.
"""
