"""Merge settings: defaults, a JSON file, and a few environment variables."""

import json
import os
from copy import deepcopy
from pathlib import Path

DEFAULTS = {"language": "en", "window": {"width": 800, "height": 600}, "recent": []}


def merge(base, extra):
    result = deepcopy(base)
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = value
    return result


path = Path.home() / "notes.json"
path.write_text(json.dumps({"window": {"width": 1024}}))
settings = merge(DEFAULTS, json.loads(path.read_text()))
settings["language"] = os.environ.get("LANG", "en")[:2]
settings["debug"] = os.getenv("DEBUG", "0") == "1"
print(json.dumps(settings, indent=2, sort_keys=True))
Path("settings.json").write_text(json.dumps(settings))
