"""The evidence store: what was asked, labelled, judged and decided, in SQLite or PostgreSQL.

One module per secrecy class, so that the rating app can be kept from verdicts by an import contract:
`rubrics`, `items` and `references` hold what a rater may reach; `sets`, `verdicts` and `decisions`
hold what would bias one. Nothing is re-exported here for the same reason.
"""
