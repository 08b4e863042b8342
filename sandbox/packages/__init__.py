"""Python packages that the image lacks: needed by blocks, fetched as wheels on the host, handed into the container."""
