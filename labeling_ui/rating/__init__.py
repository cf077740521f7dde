"""The rating app: blind by contract, driven by the keyboard."""
