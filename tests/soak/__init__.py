"""Long runs: `make soak`. A few rounds of each are part of `make test`."""
