"""Labeling: what raters, adjudicators and whoever leads them do, without a judge in sight.

Nothing is re-exported: the rating app loads `records`, `rating`, `adjudicating` and `people`; `sessions`,
`agreement` and `sheets` are the lead's and read what would bias a rater.
"""
