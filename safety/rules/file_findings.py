"""What is found at a path that is read or changed: the rules of files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.paths import Place, place
from safety.python_values import HOLE, words
from safety.rules.rule import Rule
from safety.verdicts import Finding

READ = Rule(
    "files.read-outside",
    "ask",
    "files outside the workspace",
    "What lies outside the workspace is the machine's, not the task's.",
    bad=(
        "open('/opt/app/settings.ini').read()",
        "import os\nos.listdir('/' + 'srv')",
        '#!bash\nd=/var/lib\nls "$d/dpkg"',
    ),
    good=("open('data/table.csv').read()", "import os\nos.listdir('.')", "#!bash\nls -l data", "open('/tmp/x').read()"),
)
SECRET = Rule(
    "files.read-secret",
    "deny",
    "credentials",
    "Accounts, keys, histories and tokens have no business in an answer.",
    bad=("from pathlib import Path\n(Path.home() / '.ssh' / 'id_rsa').read_text()", "#!bash\ncat /etc/sha''dow"),
    good=("open('passwd.txt')", "#!bash\ncat notes/ssh.md"),
)
CHANGE = Rule(
    "files.change-outside",
    "deny",
    "files outside the workspace",
    "Changing, moving or deleting files outside the workspace can break the machine.",
    bad=("import shutil\nshutil.move('a', '/usr/lib/a')", "#!bash\nmv a /opt/", "#!bash\necho x > /opt/y"),
    good=(
        "import shutil\nshutil.move('a', 'b')",
        "#!bash\nmv a b",
        "#!bash\necho x > /dev/null",
        "open('/tmp/y', 'w')",
    ),
)
ALL = Rule(
    "files.delete-all",
    "deny",
    "files outside the workspace",
    "Deleting the root, HOME or a whole tree leaves nothing to go back to.",
    bad=("import shutil\nshutil.rmtree('/')", "#!bash\nrm -rf ~/*"),
    good=("import shutil\nshutil.rmtree('build')", "#!bash\nrm -rf build"),
)
SWEEP = Rule(
    "files.sweep",
    "ask",
    "files outside the workspace",
    "Everything in the workspace at once: the human's files are among it.",
    bad=(
        "import shutil, os\nshutil.rmtree(os.path.expanduser('~/Documents'))",
        "import shutil\nshutil.rmtree('.')",
        "#!bash\nrm -rf *",
        "#!bash\ntar czf all.tgz ~",
    ),
    good=("#!bash\nrm -f *.o", "#!bash\ntar czf src.tgz src"),
)
ENGINE = Rule(
    "files.engine",
    "deny",
    "host",
    "Who speaks to the container engine owns the host.",
    bad=("open('/var/run/docker.sock')", "#!bash\ncurl --unix-socket /var/run/docker.sock http://x/info"),
    good=("open('docker-compose.yml')",),
)
STARTUP = Rule(
    "persistence.startup-file",
    "deny",
    "persistence",
    "What is written there runs later without being asked.",
    bad=(
        "open('/etc/cron.d/job', 'w')",
        "#!bash\necho 'x' >> ~/.bashrc",
        "import os\nopen(os.path.expanduser('~/.profile'), 'a')",
    ),
    good=("open('profile.txt', 'w')", "#!bash\necho x >> log.txt"),
)
LINK = Rule(
    "files.link-outside",
    "deny",
    "files outside the workspace",
    "A link carries later reads and writes out of the workspace.",
    bad=("import os\nos.symlink('/opt/data', 'data')", "#!bash\nln -s / root"),
    good=("import os\nos.symlink('a.txt', 'b.txt')", "#!bash\nln -s a b"),
)
MODE = Rule(
    "files.open-permissions",
    "ask",
    "files outside the workspace",
    "Everybody may write it, or it runs with its owner's rights.",
    bad=("import os\nos.chmod('run.sh', 0o777)", "#!bash\nchmod u+s tool", "#!bash\nchmod -R 777 ."),
    good=("import os\nos.chmod('run.sh', 0o755)", "#!bash\nchmod +x run.sh"),
)
DEVICE = Rule(
    "files.device",
    "deny",
    "host",
    "Writing to a disk's device or making a file system wipes what is on it.",
    bad=("#!bash\ndd if=/dev/zero of=/dev/sda", "#!bash\nmkfs.ext4 /dev/sdb1", "#!bash\nshred -u data.db"),
    good=("#!bash\ndd if=/dev/zero of=blank.img bs=1k count=4",),
)
MENTION = Rule(
    "files.names-secret",
    "ask",
    "credentials",
    "The name of a secret file is handed about; where it goes could not be followed.",
    bad=("def go(f, x):\n    return f(x)\nprint(go(input, '/etc/shadow'))", "p = '~/.aws/credentials'"),
    good=("p = 'aws/credentials.md'", "print('/etc/shadow holds the hashes')"),
)
SHADOW = Rule(
    "files.shadows-module",
    "ask",
    "persistence",
    "Python imports a file of this name in place of the module, in this block or a later one.",
    bad=("# filename: json.py\nx = 1", "open('sitecustomize.py', 'w').write('')", "#!bash\necho 1 > numpy.py"),
    good=("# filename: report.py\nx = 1", "open('result.py', 'w').write('')"),
)
TREE = Rule(
    "files.encrypt-tree",
    "deny",
    "files outside the workspace",
    "Encrypting each file of a tree in place is what ransomware does.",
    bad=(
        "import os\nfrom cryptography.fernet import Fernet\nf = Fernet(Fernet.generate_key())\n"
        "for d, _, names in os.walk('.'):\n"
        "    for n in names:\n        p = os.path.join(d, n)\n        data = open(p, 'rb').read()\n"
        "        open(p, 'wb').write(f.encrypt(data))",
    ),
    good=("from cryptography.fernet import Fernet\nprint(Fernet(Fernet.generate_key()).encrypt(b'x'))",),
)
RULES = (READ, SECRET, CHANGE, ALL, SWEEP, ENGINE, STARTUP, LINK, MODE, DEVICE, MENTION, SHADOW, TREE)
_PLANTED = re.compile(r"(?:^|/)(?:sitecustomize|usercustomize)\.py$|\.pth$")
_STDLIB = words(
    "abc argparse ast asyncio base64 bisect builtins bz2 calendar cmath codecs collections colorsys "
    "configparser contextlib copy copyreg csv ctypes datetime decimal difflib dis email encodings enum "
    "errno fractions functools gc getpass glob gzip hashlib heapq hmac html http importlib inspect io "
    "itertools json keyword linecache locale logging lzma math mmap multiprocessing numbers operator os "
    "pathlib pickle platform pprint queue random re reprlib sched secrets select selectors shelve shlex "
    "shutil signal site socket sqlite3 ssl stat statistics string struct subprocess sys sysconfig tarfile "
    "tempfile textwrap threading time timeit token tokenize traceback types typing unicodedata unittest "
    "urllib uuid warnings weakref xml zipfile zlib zoneinfo numpy pandas matplotlib scipy PIL sklearn "
    "requests yaml openpyxl seaborn sympy networkx torch"
)
_FILENAME = re.compile(r"^\s*(?:#|//|--|<!--)\s*filename:\s*(\S+)")


def shadows(path: str) -> bool:
    """Whether a file of this name would be imported in place of a module."""
    parts = path.removeprefix("/workspace/").removeprefix("./").split("/")
    if _PLANTED.search(path):
        return True
    first = parts[0].removesuffix(".py")
    return first in _STDLIB and (
        (len(parts) == 1 and parts[0].endswith(".py")) or (len(parts) == 2 and parts[1] == "__init__.py")
    )


def found_at(
    path: str, changes: bool, line: int, column: int, *, deletes: bool = False, looks: bool = False
) -> Iterator[Finding]:
    """The findings of one path that is read or changed."""
    where: Place = place(path)
    shown = path.replace(HOLE, "…")[:80]
    if where == "engine":
        yield ENGINE.at(line, f"reaches the container engine: {shown}", column)
    elif where == "secret":
        rule, verb = (CHANGE, "changes") if changes else (SECRET, "reads")
        yield rule.at(line, f"{verb} {shown}, which holds accounts or secrets", column)
    elif where == "startup":
        yield STARTUP.at(
            line,
            f"{'changes' if changes else 'reads'} {shown}, which runs by itself later",
            column,
            None if changes else "ask",
        )
    elif where == "everything":
        yield (ALL if changes else READ).at(
            line, f"{'changes' if changes else 'goes through'} the whole file system", column
        )
    elif where in ("outside", "system"):
        if looks and where == "outside":
            return
        if changes:
            yield CHANGE.at(line, f"changes {shown}, outside the workspace (read-only in the sandbox)", column)
        else:
            yield READ.at(line, f"reads {shown}, outside the workspace", column)
    elif deletes and re.match(rf"~/?(?:[^/]*/)?[^/]*{HOLE}", path):
        yield ALL.at(line, "deletes what is in the home directory, one by one", column)
    elif deletes and _OWN_THINGS.match(path):
        yield SWEEP.at(line, f"deletes a person's own things: {shown}", column)
    elif deletes and path.rstrip("/") in ("~", "~/*", "~/.*", "/tmp", "/workspace", ".", "./*", "*", ".."):
        yield (ALL if path.startswith("~") else SWEEP).at(line, f"deletes everything in {shown}", column)
    if changes and not deletes and shadows(path):
        yield SHADOW.at(line, f"makes {shown}, which Python would import in place of a module", column)


_OWN_THINGS = re.compile(
    r"^~/(?:Documents|Desktop|Downloads|Pictures|Photos|Music|Videos|Movies|Public|Projects|Mail)(?:/\*{0,2}|/\*\.\*)?/?$"
)


def filename(code: str) -> Iterator[Finding]:
    """The finding of a first line that names the block's file after a module."""
    found = _FILENAME.match(code)
    if found and shadows(found[1]):
        yield SHADOW.at(1, f"is saved as {found[1]}, which Python would import in place of a module")
