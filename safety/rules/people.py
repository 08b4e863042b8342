"""People: decisions by what somebody was born as."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import Table
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

BIAS = Rule(
    "people.unequal",
    "ask",
    "nothing",
    "Pay, credit, hiring or a score is made to depend on sex, race, faith or the like.",
    bad=(
        "def salary(gender, years):\n    base = 30000 + 1000 * years\n    if gender == 'female':\n"
        "        base *= 0.8\n    return base",
        "def score(p):\n    return 1 if p['race'] == 'white' else 0",
        '#!bash\nif [ "$race" = black ]; then score=0; fi',
    ),
    good=(
        "def bmr(gender, kg):\n    return 88.4 + 13.4 * kg if gender == 'male' else 447.6 + 9.2 * kg",
        "rows = [{'sex': 'f'}]\nprint(sum(1 for r in rows if r['sex'] == 'f'))",
    ),
)
RULES = (BIAS,)
_BORN = re.compile(
    r"(?:^|_)(?:skin|(?:hair|eye)_?colou?r|hair_?style|skin_?tone|accent|ancestry|descent|heritage|mother_tongue|native_language|immigration_status|citizenship|race|racial|ethnic\w*|religion|religious|faith|nationality|skin_?colou?r"
    r"|sexual_?orientation|caste|disabilit\w+|disabled|tribe|birth_?place|origin_country|country_of_origin)(?:$|_)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"rac|ethnic|relig|faith|national|colou?r|orient|caste|disab|tribe|birth|origin|gender|sex|marital"
    r"|pregnan|age|group|person|people|applicant|candidate|user|population|demograph|ident",
    re.IGNORECASE,
)
_SEX = re.compile(r"(?:^|_)(?:gender|sex|marital_status|pregnan\w+|age_group)(?:$|_)", re.IGNORECASE)
_GROUPS = re.compile(
    r"^(?:boy|girl)s?$|^(?:fe)?males?$|^(?:wo)?m[ae]n$|^(?:black|white|asian|hispanic|latin[oax]|african|caucasian|indian"
    r"|arab|chinese|muslim|christian|jewish|hindu|buddhist|african[ _-]american|minority|immigrant|native"
    r"|gay|lesbian|transgender|foreigner)s?$|^[mf]$",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"^(?:black|white|asian|hispanic|latin[oax]|african|caucasian|arab|muslim|christian|jewish|hindu"
    r"|buddhist|african[ _-]american|minority|immigrant|gay|lesbian|transgender)s?$",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"salar|wage|pay(?!load)|bonus|loan|credit|hir(?:e|ing)|promot|admi(?:t|ssion)|score|eligib|approv|rais"
    r"|rent|premium|insur|sentenc|bail|crim|risk|recid|qualif|candidate|suitab|compens|income|grant|scholar"
    r"|job|recruit|intelligen|\biq\b|perform|trust|rank|rating|mortgage|interest|discount|productiv|leader"
    r"|compet|capab|abilit|reject|select|\bgood|\bbad\b|_good|good_|smart|clever|superior|inferior|better|den(?:y|ied)|accept|access"
    r"|allow|worth|talent|skill|danger|violen|driver|advanc|invest|benefit|recommend|suggest|assign|role|career|profession|occupation|terror|bonus|priorit|treatment|surveil|stop_and|suspect|threat|likel|penal|shortlist|interview|offer|screen(?:ing)?\b",
    re.IGNORECASE,
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    around: dict[int, str] = {}
    yield from _bias(program, around)


def _bias(program: Program, around: dict[int, str]) -> Iterator[Finding]:
    for node in program.nodes(ast.Compare):
        if not isinstance(node, ast.Compare):
            continue
        names = {_name_of(side) for side in (node.left, *node.comparators)}
        words = [word for side in (node.left, *node.comparators) for word in _words_of(program, side)]
        born = any(_BORN.search(name) for name in names) and bool(words)
        sex = any(_SEX.search(name) for name in names) and any(_GROUPS.match(word) for word in words)
        named = any(_PEOPLE.match(word) for word in words) and any(
            re.search(r"group|person|people|applicant|candidate|user|population|demograph|ident", name, re.IGNORECASE)
            for name in names
        )
        if not (born or sex or named):
            named = _plainly(words) or (any(_GROUPS.match(word) for word in words) and _by_column(program, node))
        if born and any(_PEOPLE.match(word) for word in words):
            yield BIAS.at(node.lineno, "makes something depend on race or faith", node.col_offset + 1)
        elif born and isinstance(program.function(node), ast.FunctionDef) and _rules(program, node):
            yield BIAS.at(node.lineno, "makes a result depend on what somebody was born as", node.col_offset + 1)
        elif any(_ORIGIN.search(name) for name in names) and words and _HARSH.search(_around(program, node, around)):
            yield BIAS.at(node.lineno, "makes a decision depend on where somebody comes from", node.col_offset + 1)
        elif any(_FAMILY.search(name) for name in names) and _HIRING.search(_around(program, node, around)):
            yield BIAS.at(node.lineno, "makes a decision about work depend on age or family", node.col_offset + 1)
        elif _wears(node) and _DECIDES.search(_around(program, node, around)):
            yield BIAS.at(
                node.lineno, "makes a decision depend on what somebody wears or looks like", node.col_offset + 1
            )
        elif any(_LISTED.search(name) for name in names) and _DECIDES.search(_around(program, node, around)):
            yield BIAS.at(node.lineno, "makes a decision depend on a list of people of one kind", node.col_offset + 1)
        elif (born or sex or named) and _DECIDES.search(_around(program, node, around)):
            yield BIAS.at(node.lineno, "makes a decision depend on sex, race, faith or the like", node.col_offset + 1)
    yield from _matches(program)
    yield from _by_table(program)
    yield from _truths(program, around)
    for node in program.nodes(ast.Dict):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            numbers = {
                value.value
                for value in node.values
                if isinstance(value, ast.Constant) and isinstance(value.value, (int, float))
            }
            marked = [key for key, value in zip(node.keys, node.values, strict=True) if _weighs(key, value)]
            if marked and len(keys) > 1:
                yield BIAS.at(node.lineno, "weighs what somebody was born as", node.col_offset + 1)
            elif (
                len(keys) > 1
                and (len(numbers) > 1 or _named_decision(program, node))
                and sum(1 for key in keys if _GROUPS.match(key)) > 1
                and (
                    _DECIDES.search(_around(program, node, around))
                    or (any(_PEOPLE.match(key) for key in keys) and _DECIDES.search(_functions(program)))
                )
            ):
                yield BIAS.at(node.lineno, "weighs people by the group they belong to", node.col_offset + 1)


_ORIGIN = re.compile(
    r"(?:^|_)(?:country|passport|nation|homeland|hometown|birth_?country|neighbou?rhood)$", re.IGNORECASE
)
_HARSH = re.compile(
    r"intelligen|\biq\b|crim|trust|\bhir(?:e|ing)|honest|smart|civili[sz]|visa|terror|violen|lazy|fraud|suspect|danger",
    re.IGNORECASE,
)
_FAMILY = re.compile(r"^(?:age|has_children|children|married|marital_status)$", re.IGNORECASE)
_HIRING = re.compile(
    r"\bhir(?:e|ing)|_hir(?:e|ing)|hire_|resume|recruit|applicant|promot|employ(?!ee_id)|salar|tenant", re.IGNORECASE
)
_LISTED = re.compile(
    r"(?:^|_)(?:black|white|asian|hispanic|muslim|jewish|african|arab|female|male|women|men|foreign|immigrant|minority|ethnic)_\w+",
    re.IGNORECASE,
)


def _wears(node: ast.Compare) -> bool:
    """`"hijab" in tags`."""
    return isinstance(node.left, ast.Constant) and bool(_MARKS.match(str(node.left.value)))


_MARKS = re.compile(
    r"^(?:hijab|headscarf|turban|kippah?|burqa|afro|dreadlocks|wheelchair|beard|tattoos?)$", re.IGNORECASE
)


def _rules(program: Program, node: ast.AST) -> bool:
    """Whether a comparison decides what a function does or gives back."""
    at = program.parent(node)
    while isinstance(at, (ast.BoolOp, ast.UnaryOp)):
        at = program.parent(at)
    return isinstance(at, (ast.If, ast.IfExp, ast.Return))


def _by_table(program: Program) -> Iterator[Finding]:
    """`rates[nationality]`, `scores.get(race)`."""
    for node in program.nodes(ast.Subscript, ast.Call):
        if isinstance(node, ast.Subscript):
            table, key = node.value, node.slice
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get" and node.args:
            table, key = getattr(node.func, "value", node.func), node.args[0]
        else:
            continue
        born = isinstance(key, (ast.Name, ast.Attribute, ast.Subscript)) and _BORN.search(_name_of(key))
        if born and any(isinstance(value, Table) and len(value.items) > 1 for value in program.values(table)):
            yield BIAS.at(node.lineno, "looks a result up by what somebody was born as", node.col_offset + 1)


def _plainly(words: list[str]) -> bool:
    """Whether a word can only be the sex or the group of a person."""
    return any(re.fullmatch(r"(?:fe)?male|(?:wo)?m[ae]n|girl|boy", word, re.IGNORECASE) for word in words)


def _by_column(program: Program, node: ast.AST) -> bool:
    """Whether the statement around a comparison names a column of sex, race or the like."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = program.parent(at)
    if not isinstance(at, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign)):
        return False
    texts = [str(part.value) for part in ast.walk(at) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return any(_SEX.search(text) or _BORN.search(text) for text in texts)


def _matches(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.Match):
        if not isinstance(node, ast.Match):
            continue
        name = _name_of(node.subject)
        cases = [
            part.value for case in node.cases for part in ast.walk(case.pattern) if isinstance(part, ast.MatchValue)
        ]
        words = [str(case.value) for case in cases if isinstance(case, ast.Constant)]
        groups = any(_GROUPS.match(word) for word in words)
        if groups and (
            _BORN.search(name) or (_SEX.search(name) and _DECIDES.search(_names_under(program, node, node)))
        ):
            yield BIAS.at(node.lineno, "makes something depend on sex, race or faith", node.col_offset + 1)


_TRUTH = re.compile(
    r"^(?:is_|has_)?(?:(?:fe)?male|woman|muslim|christian|jewish|hindu|immigrant|foreign(?:er|_born)?|asian|hispanic|gay|lesbian"
    r"|transgender|disabled|disability|minority|pregnant|refugee|veteran_of_color|mental_illness)$",
    re.IGNORECASE,
)


def _truths(program: Program, around: dict[int, str]) -> Iterator[Finding]:
    """Tests of a bare mark: `if immigrant`, `return not person.disability`."""
    for node in program.nodes(ast.If, ast.IfExp, ast.Return):
        test = node.value if isinstance(node, ast.Return) else getattr(node, "test", None)
        if (
            test is None
            or not isinstance(node, ast.stmt | ast.expr)
            or (isinstance(node, ast.Return) and not isinstance(test, (ast.UnaryOp, ast.BoolOp)))
        ):
            continue
        for part in ast.walk(test):
            if not isinstance(part, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
                continue
            bare = isinstance(program.parent(part), (ast.UnaryOp, ast.BoolOp, ast.If, ast.IfExp))
            if bare and _TRUTH.match(_name_of(part)) and _DECIDES.search(_around(program, node, around)):
                yield BIAS.at(
                    getattr(node, "lineno", 0),
                    "makes a decision depend on what somebody was born as",
                    part.col_offset + 1,
                )


def _weighs(key: ast.expr | None, value: ast.expr) -> bool:
    """`"is_female": -1.5` in a table of weights; whole numbers from 0 up are marks or counts."""
    born = isinstance(key, ast.Constant) and isinstance(key.value, str) and _TRUTH.match(key.value) is not None
    minus = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)
    return born and (minus or (isinstance(value, ast.Constant) and isinstance(value.value, float)))


def _named_decision(program: Program, node: ast.Dict) -> bool:
    """Whether a table is bound to a name that speaks of a decision."""
    parent = program.parent(node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return isinstance(target, ast.Name) and bool(_DECIDES.search(target.id))


def _functions(program: Program) -> str:
    return " ".join(node.name for node in program.nodes(ast.FunctionDef) if isinstance(node, ast.FunctionDef))


_KINDS = (
    r"(?:(?:fe)?male|woman|women|man|white|black|asian|muslim|hispanic|jewish|latin[oax]|african|arab|hindu|christian"
    r"|immigrant|foreigner|foreign|disabled|pregnant|gay|lesbian|transgender)"
)
_SHELL_ASKED = re.compile(
    r"read\s+(?:-\w+\s+)*[\"'][^\"'\n]{0,80}\b(?:gender|sex|race|religion|ethnicity|nationality|caste|skin|faith|married|pregnant)\b"
    r"[^\"'\n]{0,80}[\"']\s+(\w+)",
    re.IGNORECASE,
)
_SHELL_GROUP = re.compile(
    rf"(?:==?|!=)\s*[\"']?{_KINDS}\b|^[ \t]*[\"']?{_KINDS}[\"']?[ \t]*\)|\[{_KINDS}\]=", re.IGNORECASE | re.MULTILINE
)
_SHELL_AGE = re.compile(r"\[\s*[\"']?\$\{?age\b", re.IGNORECASE)


def _name_of(side: ast.expr) -> str:
    if isinstance(side, ast.Name):
        return side.id
    if isinstance(side, ast.Attribute):
        return side.attr
    if isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Constant):
        return str(side.slice.value)
    if isinstance(side, ast.Call):
        if (
            isinstance(side.func, ast.Attribute)
            and side.args
            and isinstance(side.args[0], ast.Constant)
            and side.func.attr == "get"
        ):
            return str(side.args[0].value)
        return _name_of(side.func.value) if isinstance(side.func, ast.Attribute) else ""
    return ""


def _words_of(program: Program, side: ast.expr) -> list[str]:
    values = [item for value in program.values(side) for item in (value if isinstance(value, tuple) else (value,))]
    return [value for value in values if isinstance(value, str)]


def _around(program: Program, node: ast.AST, known: dict[int, str]) -> str:
    """The names that the decision touches: of the function around it, and of what is set under the condition."""
    at: ast.AST | None = node
    while at is not None and not isinstance(
        at, (ast.If, ast.IfExp, ast.AugAssign, ast.FunctionDef, ast.Assign, ast.Return, ast.Module, ast.While)
    ):
        at = program.parent(at)
    function = program.function(node)
    if isinstance(function, ast.Lambda):
        # What is done with the answer of a lambda stands in the statement around it.
        while at is not None and not isinstance(at, ast.stmt):
            at = program.parent(at)
    if id(at) not in known:
        known[id(at)] = _names_under(program, node, at)
    return known[id(at)]


def _names_under(program: Program, node: ast.AST, at: ast.AST | None) -> str:
    parts: list[str] = []
    for inner in ast.walk(at) if at is not None and not isinstance(at, ast.Module) else ():
        if isinstance(inner, ast.Name):
            parts.append(inner.id)
        elif isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            parts.append(inner.value[:60])
    function = program.function(node)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts.append(function.name)
    return " ".join(parts)


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    looked: set[str] = set()
    asked_for = {found[1] for found in _SHELL_ASKED.finditer(script.code[:20_000])}
    compared = _SHELL_GROUP.search(script.code)
    if compared and _DECIDES.search(script.code[:20_000]):
        line = script.code.count("\n", 0, compared.start()) + 1
        yield BIAS.at(line, "makes a decision depend on sex, race, faith or the like")
    if _SHELL_AGE.search(script.code) and _HIRING.search(script.code[:20_000]):
        line = script.code.count("\n", 0, script.code.index("age")) + 1
        yield BIAS.at(line, "makes a decision about work depend on age")
    for name, line, column in script.read_variables:
        if name in looked:
            continue
        looked.add(name)
        born = _BORN.search(name)
        if not born and not ((_SEX.search(name) or name in asked_for) and _DECIDES.search(script.code[:20_000])):
            continue
        asked = rf"\$\{{?{re.escape(name)}\}}?\"?\s*(?:==?|!=)|case\s+\"?\$\{{?{re.escape(name)}"
        if re.search(asked, script.code):
            yield BIAS.at(line, "makes a decision depend on sex, race, faith or the like", column)
