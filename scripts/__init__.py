"""Set-up of a checkout: environment, Docker engine, sandbox image."""
