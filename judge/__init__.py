"""Who judges: judge specifications, models, rules, baselines, the command line and the HTTP service."""
