"""Where code runs: the Docker executor, the supervisor inside the container, the image."""
