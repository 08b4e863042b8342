"""Small shared words: settings, errors, models, prompts, the Docker engine."""
