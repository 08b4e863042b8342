"""What runs inside the container: standard library only, Python 3.9 and later, handed over as source text."""
