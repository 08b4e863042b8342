"""Files: what is read, listed, changed, deleted or linked outside the workspace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.paths import is_outside, place
from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, as_text, words
from safety.rules.file_findings import LINK, MENTION, MODE, READ, RULES, TREE, filename, found_at
from safety.verdicts import Finding

__all__ = ["RULES", "python"]

_ROOTS = words(
    "os shutil glob pathlib io open sqlite3 zipfile tarfile pandas numpy PIL cv2 imageio configparser csv "
    "json fileinput linecache mmap dbm shelve pickle gzip bz2 lzma tempfile aiofiles h5py torch joblib "
    "openpyxl docx yaml matplotlib ctypes runpy filecmp skimage polars pyarrow scipy soundfile wave toml "
    "tomllib duckdb geopandas nibabel xlrd xlsxwriter reportlab fitz PyPDF2 pypdf logging execfile codecs "
    "stat py7zr rarfile dill cloudpickle marshal importlib distutils watchdog sh plumbum fs netCDF4 "
    "rasterio pyodbc dotenv xml lxml"
)
_METHODS = words(
    "to_csv to_excel to_json to_parquet to_pickle to_sql to_html savefig save write_text write_bytes "
    "read_text read_bytes extractall extract dump load open read_csv read_excel read_json imread imwrite "
    "unlink rmdir rmtree rename replace_file copyfile listdir iterdir glob rglob walk scandir mkdir "
    "makedirs touch chmod symlink_to hardlink_to execute_script backup load_workbook parse"
)
_PURE = re.compile(
    r"^(?:os\.path\.(?!exists|isfile|isdir|getsize|getmtime|lexists|islink|getctime|getatime|ismount"
    r"|samefile).*|os\.(?:fspath|environ.*|getenv|putenv|fsencode|fsdecode)"
    r"|pathlib\.Path|pathlib\.Path\(\)\.(?:joinpath|with_.*|relative_to|is_relative_to|match|as_posix"
    r"|is_absolute|expanduser|absolute|__str__)"
    r"|print|str|repr|len|isinstance|hash|sorted|list|tuple|set|logging\.(?!FileHandler|handlers"
    r"|basicConfig).*|json\.(?:dumps|loads)|csv\.(?:reader|writer|Dict.*)"
    r"|shutil\.which|importlib\.import_module|numpy\.array|pandas\.(?:DataFrame|Series)|os\.(?:system|popen"
    r"|exec.*|spawn.*|posix_spawn.*)"
    r"|xml\..*\.(?:find|findall|iterfind|findtext)|lxml\..*xpath)$"
)
_LOOK = re.compile(r"^os\.path\.|\.(?:exists|is_file|is_dir|stat|lstat)$|^os\.(?:stat|access|lstat|statvfs)$")
_CHANGERS = re.compile(
    r"^os\.(?:remove|unlink|rmdir|removedirs|rename|renames|replace|mkdir|makedirs|chmod|lchmod|chown"
    r"|lchown|fchmod|symlink|link|truncate|mknod|mkfifo|utime|chflags|setxattr|removexattr)$"
    r"|^shutil\.(?:rmtree|move|chown|copymode|copystat|unpack_archive|make_archive)$|^tarfile\.|^(?:distutils\..*)$"
    r"|\.(?:unlink|rmdir|rename|replace|write_text|write_bytes|touch|mkdir|chmod|lchmod|symlink_to"
    r"|hardlink_to|to_csv|to_excel|to_json|to_parquet|to_pickle|to_html|savefig|save|imwrite|extractall|extract|dump)$"
)
_COPIERS = re.compile(r"^shutil\.(?:copy|copy2|copyfile|copytree)$")
_LINKERS = re.compile(r"^os\.(?:symlink|link)$|\.(?:symlink_to|hardlink_to)$")
_DELETERS = re.compile(r"^shutil\.rmtree$|^os\.(?:removedirs|remove|unlink|rmdir)$|\.(?:unlink|rmdir)$")


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    flagged: set[int] = set()
    for call in program.calls:
        for finding in _call(program, call):
            flagged.add(call.line)
            yield finding
    yield from _mentions(program, flagged)
    yield from filename(program.code)
    yield from _encrypts(program)


def _call(program: Program, call: Call) -> Iterator[Finding]:
    name = call.name
    root, last = name.split(".", 1)[0].split("(", 1)[0], name.rsplit(".", 1)[-1]
    if _PURE.match(name) or (last in _TEXT_METHODS and not name.startswith(("os.replace", "pathlib.Path()."))):
        return
    known = root in _ROOTS or (root == "?" and last in _METHODS) or last in _METHODS
    yield from _modes(call)
    changes, deletes = bool(_CHANGERS.search(name)), bool(_DELETERS.search(name))
    if last == "open" or name == "open":
        changes = any(set(mode) & set("wax+") for mode in _open_modes(call))
    if name.startswith("os.open"):
        changes = any(
            "O_WRONLY" in str(flag) or "O_RDWR" in str(flag) or "O_CREAT" in str(flag)
            for flag in call.argument(1, "flags")
        )
    for position, path in _paths(call):
        where = place(path)
        if not known and where not in ("secret", "startup", "engine", "system"):
            continue
        if not known and (root in _QUIET or (root == "?" and last in _QUIET_METHODS)):
            continue
        if _LINKERS.search(name) and position == 0 and is_outside(path):
            yield LINK.at(call.line, f"makes a link to {path[:80]}, outside the workspace", call.column)
            continue
        writes = changes or (bool(_COPIERS.match(name)) and position == 1)
        yield from found_at(path, writes, call.line, call.column, deletes=deletes, looks=bool(_LOOK.search(name)))
    if name == "os.chdir" and any(is_outside(text) for text in program.texts(call.argument(0, "path"))):
        yield READ.at(call.line, "leaves the workspace", call.column)


_TEXT_METHODS = words(
    "replace split rsplit join strip lstrip rstrip startswith endswith find rfind index count partition rpartition "
    "removeprefix removesuffix format encode decode splitlines append extend insert get setdefault pop update"
)
_QUIET = words(
    "print re logging argparse unittest typing click requests httpx flask fastapi django urllib aiohttp "
    "str repr ValueError Exception"
)
_QUIET_METHODS = words(
    "append add startswith endswith replace split join strip format info debug warning error route get "
    "post put delete patch write print assertEqual assertTrue assertIn assertRaises insert extend index "
    "count find add_argument encode header"
)


def _open_modes(call: Call) -> tuple[str, ...]:
    if call.name.endswith("pathlib.Path().open") or (
        call.receiver is not None and isinstance(call.receiver, Ref) and call.receiver.text is not None
    ):
        values = call.argument(0, "mode") if call.given(0, "mode") else ("r",)
    else:
        values = call.argument(1, "mode") if call.given(1, "mode") else ("r",)
    return tuple(as_text(value) for value in values)


def _paths(call: Call) -> Iterator[tuple[int, str]]:
    """The places and texts of the arguments that look like paths; -1 for the object itself."""
    if isinstance(call.receiver, Ref) and call.receiver.text is not None and call.receiver.name == "pathlib.Path()":
        yield -1, call.receiver.text
    given = [*enumerate(call.args), *((90 + count, values) for count, values in enumerate(call.keywords.values()))]
    for position, values in given:
        for value in values:
            if isinstance(value, tuple):
                yield from (
                    (position, as_text(item))
                    for item in value
                    if isinstance(item, (str, Ref)) and _looks(as_text(item))
                )
            elif isinstance(value, Ref) and value.name != "pathlib.Path()":
                continue
            elif isinstance(value, (str, bytes, Ref)) and _looks(as_text(value)):
                yield position, as_text(value)


def _looks(text: str) -> bool:
    return 0 < len(text) < 4096 and "\n" not in text and "<" not in text


def _modes(call: Call) -> Iterator[Finding]:
    last = call.name.rsplit(".", 1)[-1]
    if last not in ("chmod", "fchmod", "lchmod"):
        return
    place_of_mode = 0 if call.name.startswith("pathlib.") else 1
    for mode in call.argument(place_of_mode, "mode"):
        if isinstance(mode, int) and (mode & 0o002 or mode & 0o6000):
            yield MODE.at(call.line, f"gives permissions {mode:o} to a file", call.column)
            return
    if any(_WIDE_MODE.search(node.attr) for node in ast.walk(call.node) if isinstance(node, ast.Attribute)):
        yield MODE.at(call.line, "lets everybody write a file, or makes it run as its owner", call.column)


_WIDE_MODE = re.compile(r"^S_IS[UG]ID$|^S_IRWXO$|^S_IWOTH$")


def _mentions(program: Program, flagged: set[int]) -> Iterator[Finding]:
    for node in program.nodes(ast.Constant, ast.JoinedStr, ast.BinOp):
        if not isinstance(node, ast.expr) or node.lineno in flagged:
            continue
        if isinstance(node, ast.Constant) and not (isinstance(node.value, str) and node.value[:1] in ("/", "~", ".")):
            continue
        parent = program.parent(node)
        if isinstance(parent, (ast.Expr, ast.Compare, ast.BinOp, ast.JoinedStr, ast.FormattedValue)):
            continue
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "print":
            continue
        for text in program.texts(program.values(node)):
            if (
                text[:1] in ("/", "~", ".")
                and len(text) < 200
                and " " not in text
                and place(text) in ("secret", "engine", "startup")
            ):
                flagged.add(node.lineno)
                yield MENTION.at(node.lineno, f"names {text[:80].replace(HOLE, '…')}", node.col_offset + 1)
                break


def _makes_bytes(program: Program, node: ast.AST) -> bool:
    """Whether a result goes into bytes, element by element."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Subscript)
    at = program.parent(node)
    while isinstance(at, (ast.GeneratorExp, ast.ListComp, ast.Tuple, ast.List, ast.BinOp)):
        at = program.parent(at)
    return isinstance(at, ast.Call) and getattr(at.func, "id", getattr(at.func, "attr", "")) in (
        "bytes",
        "bytearray",
        "append",
        "extend",
    )


_ENCRYPTS = re.compile(
    r"\.encrypt(?:_and_digest|_file)?$|\.encryptor\(\)\.update$|^pyAesCrypt\.encrypt|\.encrypt_(?:files?|stream)$"
)


def _encrypts(program: Program) -> Iterator[Finding]:
    names = [call.name for call in program.calls]
    walks = any(
        name in ("os.walk", "os.listdir", "os.scandir", "glob.glob", "glob.iglob")
        or name.endswith((".rglob", ".iterdir"))
        for name in names
    )
    writes = walks and any(
        (call.name == "open" and any("w" in mode or "+" in mode for mode in _open_modes(call)))
        or call.name.endswith(".write_bytes")
        for call in program.calls
    )
    whole = writes and any(
        isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.BitXor) and _makes_bytes(program, node)
        for node in program.nodes(ast.BinOp, ast.AugAssign)
    )
    for call in program.calls:
        goes = _DELETERS.search(call.name) or call.name in ("os.rename", "os.replace", "shutil.move")
        if whole and goes and call.name != "shutil.rmtree":
            yield TREE.at(call.line, "scrambles the files of a tree and deletes what they were", call.column)
        if writes and _ENCRYPTS.search(call.name):
            yield TREE.at(call.line, "encrypts the files of a tree in place", call.column)
