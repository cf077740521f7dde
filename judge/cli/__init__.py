"""The command line: one module per noun; wiring happens here only."""
