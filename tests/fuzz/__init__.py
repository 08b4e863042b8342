"""The fuzz run: hostile messages and code for the parser, the views, the gate and the rules."""
