"""The menu of the first start, in a process of its own, with a .env file that is the test's."""

import os
import sys
from pathlib import Path

from interfaces.terminal.command_line import tell
from interfaces.terminal.environment import read_environment
from interfaces.terminal.onboarding import Onboarding
from utils.errors import RoundtableError
from utils.models import Models
from utils.settings import ROOT, Settings

home = Path(sys.argv[1])
environ = read_environment(dict(os.environ))
settings = Settings(data_dir=home, environ=environ, models_file=home / "models.yaml")
if not settings.models_file.exists():
    settings = settings.model_copy(update={"models_file": ROOT / "models.yaml"})
try:
    chosen = Onboarding(settings, Models.load(settings.models_file, environ), home / ".env").choose()
except RoundtableError as error:
    tell(str(error))
    sys.exit(error.exit_status)
profile = Models.load(chosen.models_file, chosen.environ).resolve(chosen.model)
sys.stdout.write(f"CHOSEN {chosen.model!r} {profile.name} {profile.model}\n")
