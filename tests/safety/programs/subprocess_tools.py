"""Run known tools in the workspace and read their output."""

import shutil
import subprocess
import sys
from pathlib import Path

Path("hello.py").write_text("import sys\nprint('hello', *sys.argv[1:])\n")
run = subprocess.run([sys.executable, "hello.py", "world"], capture_output=True, text=True, check=True)
print(run.stdout.strip())

if shutil.which("git"):
    subprocess.run(["git", "init", "-q", "repo"], check=True)
    status = subprocess.run(["git", "status", "--short"], cwd="repo", capture_output=True, text=True)
    print(status.returncode)

listing = subprocess.check_output("ls -l | head -n 3", shell=True, text=True)
print(listing)

process = subprocess.Popen(["sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
output, _ = process.communicate("b\na\n")
print(output.split())
try:
    subprocess.run(["sleep", "5"], timeout=0.1)
except subprocess.TimeoutExpired as error:
    print("too slow:", error.timeout)
