"""Protection of secrets: broken ciphers, bare hashes of passwords, and guessing what is locked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, Table, as_text
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

WEAK = Rule(
    "credentials.weak-protection",
    "ask",
    "credentials",
    "Secrets kept like that are soon read: a broken cipher, a short key or a bare hash of a password.",
    bad=(
        "import hashlib\ndef store(password):\n    return hashlib.md5(password.encode()).hexdigest()",
        "from Crypto.Cipher import DES\nDES.new(b'8bytekey', DES.MODE_ECB)",
        "from Crypto.PublicKey import RSA\nRSA.generate(1024)",
        "import random\ndef new_token():\n    return ''.join(random.choice('abc') for _ in range(9))",
        "#!bash\nread -rsp 'Password: ' p\necho \"$p\" >> p.txt",
        "#!bash\nopenssl enc -des-ecb -in a -out b",
        "import base64\npassword = b'x'\nbase64.b64encode(password)",
        "import jwt\njwt.decode('t', options={'verify_signature': False})",
    ),
    good=("import hashlib\nhashlib.md5(open('a', 'rb').read()).hexdigest()", "import hashlib\nhashlib.sha256(b'x')"),
)
CRACK = Rule(
    "credentials.guesses",
    "ask",
    "credentials",
    "It tries passwords one by one against something that is locked or hashed.",
    bad=(
        '#!bash\nwhile read -r w; do unzip -P "$w" a.zip; done < words.txt',
        "import zipfile\nz = zipfile.ZipFile('a.zip')\nfor w in open('words.txt'):\n"
        "    z.extractall(pwd=w.strip().encode())",
        "import hashlib\nh = 'x'\nfor w in ['a', 'b']:\n    "
        "if hashlib.md5(w.encode()).hexdigest() == h:\n        print(w)",
    ),
    good=("import zipfile\nzipfile.ZipFile('a.zip').extractall('out')",),
)
RULES = (WEAK, CRACK)

_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd\b|(?:^|[_ ])pw(?:$|[_ ])|\bpin\b|secret|credential|confidential|sensitive"
    r"|private_?(?:data|info)"
    r"|credit_?card|\bssn\b|social_security|user_?data|personal|customer_?data|\$\{?pass\b|\bpass=",
    re.IGNORECASE,
)
_BARE_HASH = re.compile(r"^hashlib\.(?:md5|sha1|md4|new)$")
_WEAK_STORE = re.compile(
    r"^passlib\.hash\.(?:md5_crypt|apr_md5_crypt|des_crypt|plaintext|lmhash|nthash|hex_md5|hex_sha1|ldap_plaintext|mysql323)\b"
)
_WEAK_CIPHER = re.compile(
    r"\b(?:Cipher\.(?:DES|ARC2|ARC4|Blowfish|CAST|XOR)\.new|algorithms\.(?:ARC4|Blowfish|IDEA|CAST5|SEED"
    r"|TripleDES)|pyDes\.des)$"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        yield from _weak(program, call)
        yield from _encoded(program, call)
        yield from _unsigned(call)
        yield from _guess(program, call)
    yield from _cracks(program)
    yield from _guessable(program)


_KEYS = re.compile(
    r"(?:^|_)(?:api|secret|session|auth|access|private|encryption|csrf|reset|aes)_?(?:key|token|id)s?$|^(?:otp|nonce|salt|token|iv)$",
    re.IGNORECASE,
)


_MAKES_KEY = re.compile(
    r"(?:api|secret|session|auth|access|private|encryption|csrf|reset)_?(?:key|token|id)|(?:^|_)(?:otp|nonce|salt|token|iv)(?:_|$)",
    re.IGNORECASE,
)


def _guessable(program: Program) -> Iterator[Finding]:
    """Keys out of a generator that can be told in advance; hashes compared to find two that collide."""
    hashes = any(call.name.startswith("hashlib.") for call in program.calls)
    told = r"^random\.(?!SystemRandom)" + (r"|^time\.time|^datetime\.\w+\.(?:now|utcnow|today)$" if hashes else "")
    drawn = [call for call in program.calls if re.match(told, call.name)]
    for node in program.nodes(ast.Assign):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, (ast.Name, ast.Attribute)):
            inside = {id(part) for part in ast.walk(node.value)} if drawn else set()
            if _KEYS.search(getattr(target, "id", getattr(target, "attr", ""))) and any(
                id(c.node) in inside for c in drawn
            ):
                yield WEAK.at(node.lineno, "makes a key that can be told in advance", node.col_offset + 1)
    functions = {id(program.function(call.node)): call for call in drawn}
    for node in program.nodes(ast.FunctionDef) if drawn else ():
        if isinstance(node, ast.FunctionDef) and _MAKES_KEY.search(node.name) and id(node) in functions:
            yield WEAK.at(node.lineno, "makes a key that can be told in advance", node.col_offset + 1)
    for node in program.nodes(ast.Compare):
        sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
        broken = [
            side
            for side in sides
            if any(
                isinstance(value, Ref) and re.match(r"^hashlib\.(?:md5|sha1)\(\)", value.name)
                for value in program.values(side)
            )
        ]
        made = any(call.name in ("bytes.fromhex", "binascii.unhexlify") for call in program.calls)
        if isinstance(node, ast.Compare) and len(broken) == 2 and made:
            yield WEAK.at(node.lineno, "looks for two texts with one hash", node.col_offset + 1)


def _encoded(program: Program, call: Call) -> Iterator[Finding]:
    """What anybody can undo, used on a secret."""
    if call.name in (
        "base64.b64encode",
        "zlib.crc32",
        "zlib.adler32",
        "binascii.crc32",
        "base64.b32encode",
        "binascii.hexlify",
    ):
        known = " ".join(as_text(value)[:200] for value in call.argument(0))
        if _SECRET_NAME.search(" ".join((known, *_names_in(call.node), *_texts_in(call.node)))):
            yield WEAK.at(call.line, "keeps a secret in a form that anybody can undo", call.column)


def _unsigned(call: Call) -> Iterator[Finding]:
    """Web tokens without a signature."""
    if call.name not in ("jwt.encode", "jwt.decode"):
        return
    options = [item for value in call.keywords.get("options", ()) if isinstance(value, Table) for item in value.items]
    off = any(key == "verify_signature" and value is False for key, value in options)
    off = off or any(value is False for value in call.keywords.get("verify", ()))
    given = (*call.argument(2, "algorithm", "algorithms"),)
    none = any(
        "none" in [as_text(item).lower() for item in (value if isinstance(value, tuple) else (value,))]
        for value in given
    )
    if off or none:
        yield WEAK.at(call.line, "makes or takes a token that nobody has signed", call.column)


def _cracks(program: Program) -> Iterator[Finding]:
    """Words or characters that are hashed one after the other until one fits."""
    for node in program.nodes(ast.Compare):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq):
            continue
        loop = program.parent(node)
        while loop is not None and not isinstance(loop, (ast.For, ast.Module, ast.FunctionDef)):
            loop = program.parent(loop)
        if not isinstance(loop, ast.For):
            continue
        names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
        for part in ast.walk(loop):
            if not (isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)):
                continue
            if any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(part.value)):
                names.add(part.targets[0].id)
        for side in (node.left, *node.comparators):
            hashed = [value for value in program.values(side) if isinstance(value, Ref) and _DIGEST.match(value.name)]
            if hashed and _encodes(loop, names):
                yield CRACK.at(node.lineno, "hashes guesses until one fits", node.col_offset + 1)


_DIGEST = re.compile(
    r"^(?:hashlib|bcrypt|crypt|Crypto\.Hash)\.[\w.()]*(?:digest|crypt|hashpw)\(\)$|^bcrypt\.checkpw\(\)$"
)


def _encodes(loop: ast.For, names: set[str]) -> bool:
    """Whether the loop turns its own words into bytes, as one does to hash them."""
    encoded = [
        node.func.value
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode"
    ]
    return any(isinstance(part, ast.Name) and part.id in names for expr in encoded for part in ast.walk(expr))


def _weak(program: Program, call: Call) -> Iterator[Finding]:
    if call.name in ("hashlib.md5().update", "hashlib.sha1().update", "hashlib.new().update"):
        source = " ".join((*_names_in(call.node), *_texts_in(call.node)))
        if _SECRET_NAME.search(source):
            yield WEAK.at(call.line, "keeps a password as a bare fast hash", call.column)
    if _BARE_HASH.match(call.name):
        function = program.function(call.node)
        source = " ".join((*_names_in(call.node), *_texts_in(call.node)))
        about = function.name if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else ""
        if _SECRET_NAME.search(source) or (
            _SECRET_NAME.search(about) and re.search(r"hash|store|encrypt|save|check|verify", about)
        ):
            weak = call.name != "hashlib.new" or any(
                as_text(value).lower() in ("md5", "sha1", "md4") for value in call.argument(0)
            )
            if weak:
                yield WEAK.at(call.line, "keeps a password as a bare fast hash", call.column)
    elif _WEAK_STORE.match(call.name):
        yield WEAK.at(call.line, "keeps a password in a form that is soon undone", call.column)
    elif _WEAK_CIPHER.search(call.name):
        yield WEAK.at(call.line, "uses a cipher that is broken", call.column)
    elif re.search(
        r"\b(?:RSA\.generate|DSA\.generate|rsa\.generate_private_key|rsa\.newkeys|RSA\.construct"
        r"|dsa\.generate_private_key)$",
        call.name,
    ):
        sizes = [*call.argument(0, "key_size", "bits"), *call.argument(1, "key_size")]
        if any(isinstance(size, int) and size != 65537 and 16 <= size < 2048 for size in sizes):
            yield WEAK.at(call.line, "makes a key that is too short", call.column)
    for values in call.args:
        if any(
            isinstance(value, Ref) and re.match(r"^ssl\.PROTOCOL_(?:SSLv|TLSv1(?:_1)?$)", value.name)
            for value in values
        ):
            yield WEAK.at(call.line, "speaks a protocol that is broken", call.column)
    for values in (*call.args, *call.keywords.values()):
        if any(isinstance(value, Ref) and re.search(r"\.MODE_ECB$|modes\.ECB\(\)$", value.name) for value in values):
            yield WEAK.at(call.line, "uses a cipher mode that shows patterns", call.column)


def _names_in(node: ast.Call) -> Iterator[str]:
    for argument in node.args:
        for inner in ast.walk(argument):
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr
            elif isinstance(inner, ast.arg):
                yield inner.arg


def _texts_in(node: ast.Call) -> Iterator[str]:
    for argument in node.args:
        for inner in ast.walk(argument):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (str, bytes)):
                yield as_text(inner.value)[:80]


def _guess(program: Program, call: Call) -> Iterator[Finding]:
    if call.name.endswith((".extractall", ".setpassword", ".extract")) and (
        "pwd" in call.keywords or "password" in call.keywords
    ):
        given = call.keywords.get("pwd") or call.keywords.get("password") or ()
        at: ast.AST | None = program.parent(call.node)
        while at is not None and not isinstance(at, (ast.For, ast.While, ast.Module)):
            at = program.parent(at)
        if isinstance(at, (ast.For, ast.While)) and any(HOLE in as_text(value) for value in given):
            yield CRACK.at(call.line, "tries passwords in a loop", call.column)


def _line(script: Script, line: int) -> str:
    return script.lines[line - 1][:2000] if 0 < line <= len(script.lines) else ""


_UNLOCKERS = {
    "unzip": ("-P",),
    "7z": ("-p",),
    "7za": ("-p",),
    "unrar": ("-p",),
    "gpg": ("--passphrase",),
    "openssl": ("-k", "-pass", "-passin"),
    "qpdf": ("--password",),
    "pdftotext": ("-upw", "-opw"),
    "steghide": ("-p",),
    "sshpass": ("-p",),
    "ssh-keygen": ("-P",),
    "cryptsetup": ("-d", "open"),
    "su": ("-c",),
}


def _tries(command: Command) -> bool:
    """Whether a word that changes from turn to turn is given as the password of something locked."""
    options = _UNLOCKERS.get(command.name, ())
    locks = command.name == "openssl" and not command.has("-d")
    for place, arg in enumerate(command.args):
        if arg.startswith(options) and not locks if options else False:
            return HOLE in " ".join(command.args[place : place + 2])
    return False


_READ_SECRETLY = re.compile(r"\bread\s+(?:-\w+\s+)*-\w*s\w*\s*(?:-\w+\s+)*(?:[\"'][^\"'\n]{0,80}[\"']\s+)?(\w+)")


def _in_the_clear(script: Script, command: Command) -> bool:
    """Whether what was typed unseen (`read -s`) is written to a file as it is."""
    if not any(
        ">" in operator and target not in ("/dev/null", "/dev/stderr", "2") for operator, target in command.redirects
    ):
        return False
    line = _line(script, command.line)
    typed = _READ_SECRETLY.findall(script.code[:20_000])
    return any(re.search(rf"\$\{{?{re.escape(name)}\b", line) for name in typed)


def _feeds_text(command: Command) -> bool:
    return command.before is not None and command.before.name in ("echo", "printf")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        name, line, column = command.name, command.line, command.column
        if name == "openssl" and re.search(r"-(?:des\d?|rc4|rc2|bf|des-ecb|aes-\d+-ecb)\b", " ".join(command.args)):
            yield WEAK.at(line, "uses a cipher that is broken", column)
        elif (
            name == "openssl"
            and command.args[:1] == ("genrsa",)
            and any(arg.isdigit() and int(arg) < 2048 for arg in command.args)
        ) or (name == "ssh-keygen" and any(size.isdigit() and 256 < int(size) < 2048 for size in command.args)):
            yield WEAK.at(line, "makes a key that is too short", column)
        elif name in ("md5sum", "sha1sum", "sha256sum") and command.loops and _feeds_text(command):
            yield CRACK.at(line, "hashes words one after the other", column)
        elif name in ("echo", "printf") and _in_the_clear(script, command):
            yield WEAK.at(line, "keeps a password in the clear", column)
        elif command.loops and _tries(command):
            yield CRACK.at(line, "tries passwords in a loop", column)
        elif (
            name in ("md5sum", "sha1sum", "cksum", "base64")
            and command.before is not None
            and not command.has("-d", "--decode")
            and _SECRET_NAME.search(_line(script, line))
        ):
            yield WEAK.at(line, "keeps a password as a bare fast hash", column)
