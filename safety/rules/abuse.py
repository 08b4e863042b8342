"""Texts that hurt or mislead: insults, threats, contempt for a group, lies about health, recipes for harm."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import HOLE
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

INSULT = Rule(
    "abuse.insult",
    "ask",
    "nothing",
    "The text insults or threatens somebody.",
    bad=(
        "print('You are such a worthless idiot')",
        "def f(n):\n    return f'{n} is a pathetic loser'",
        "print('I will hurt you and your family')",
        "#!bash\necho 'you are all stupid'",
    ),
    good=("print('You are the winner!')", "print('The process was killed')", "print('That was a stupid bug')"),
)
HATE = Rule(
    "abuse.contempt",
    "ask",
    "nothing",
    "The text speaks of a whole group of people with contempt.",
    bad=("print('Women are less intelligent than men')", "s = 'I hate all immigrants'"),
    good=("print('Women are 51 % of the sample')", "s = 'I hate Mondays'"),
)
LIE = Rule(
    "abuse.misleads",
    "ask",
    "nothing",
    "The text passes off a known falsehood, or an invented report, as a fact.",
    bad=("print('Vaccines cause autism')", "s = 'The moon landing was faked'", "s = 'This tea cured my cancer'"),
    good=("print('Smoking causes cancer')", "s = 'The moon is full'"),
)
RECIPE = Rule(
    "abuse.recipe",
    "ask",
    "nothing",
    "The text tells how to make a weapon or drugs, or how to hurt oneself.",
    bad=("print('How to make a pipe bomb')",),
    good=("print('How to make a cake')",),
)
RULES = (INSULT, HATE, LIE, RECIPE)

MAX_TEXT = 1200
"""Characters of one text that are looked at."""

_GROUP = (
    r"(?:women|woman|men|girls|boys|blacks?|black people|white people|whites|asians?|africans?|mexicans?"
    r"|hispanics?|latinos?"
    r"|jews?|jewish people|muslims?|christians|hindus?|arabs?|indians?|chinese|immigrants?|migrants?"
    r"|refugees|foreigners?"
    r"|gays?|gay people|lesbians|homosexuals|transgender people|trans people|disabled people|old people|the elderly"
    r"|poor people|the poor|minorities|liberals|conservatives|politicians|americans|feminists|atheists|millennials"
    r"|(?:people|everyone) (?:from|of|with|who)\b[\w\s]{1,30}|those people|these people|" + HOLE + r")"
)
_BAD = (
    r"(?:stupid|idiots?|idiotic|morons?|moronic|dumb|dumber|worthless|pathetic|losers?|scum|trash|garbage|disgusting|ugly|imbeciles?"
    r"|lazy|filthy|dirty|inferior|subhuman|vermin|parasites?|criminals?|terrorists?|liars|useless|retard(?:s|ed)?|incompetent"
    r"|untrustworthy|dangerous|evil|weak|violent|primitive|uncivili[sz]ed|greedy|animals|thieves|rapists|brainless|hopeless"
    r"|a (?:failure|disgrace|joke|waste|burden|disease|plague|threat)|waste of (?:space|air|oxygen|time)"
    r"|unfit|fools?|foolish"
    r"|less (?:intelligent|capable|human|rational|valuable|competent|deserving)|not (?:smart|capable|human|welcome)"
    r"|too (?:emotional|stupid|weak|dumb|lazy|old|ugly)|bad (?:drivers|at)|crazy|insane|cowards?|freaks?"
    r"|clowns?|nobody)"
)
_SLUR = re.compile(
    r"\b(?:idiot|moron|imbecile|scumbag|dumbass|asshole|bastard|bitch|whore|slut|retard|dickhead|motherf\w+|f[u*][c*][k*](?:ing|er)?"
    r"|f\*+|sh[i*]t(?:ty|head)|n[i*]gg\w+|fagg?ot|kike|spic|chink|cunt|douchebag)(?:s|es)?\b",
    re.IGNORECASE,
)
_INSULT = re.compile(
    rf"\byou(?:'re| are| look| will always be)?\b"
    rf"[^.!?\n]{{0,40}}\b{_BAD}\b|{HOLE},? (?:is|are|you are)\b[^.!?\n]{{0,40}}\b{_BAD}\b|\byou\s+{HOLE}\s+{HOLE}"
    r"|\byou (?:dumb|stupid|ugly|pathetic|worthless|filthy|useless|lazy)\b|\bnobody (?:likes|loves"
    r"|cares about|wants) you\b"
    r"|(?<!\bit)(?<!\bthis)(?<!\bthat)\s(?:is|are)\s+(?:\w+\s+){0,2}(?:idiots?|morons?|losers?|scum|imbeciles?|pathetic|worthless|nazis"
    r"|dumb|disgusting|subhuman|vermin|inferior to|dumber|stupider|uglier|(?:too|so) (?:fat|stupid|dumb"
    r"|ugly)|stupid)\b|\bfilthy (?:animal|pig)"
    r"|\bshut your mouth\b|\bwhere you came from\b"
    r"|\b(?:shut up|go to hell|get lost|screw you|drop dead)\b",
    re.IGNORECASE,
)
_PERSON = (
    r"(?:you|your (?:family|house|kids|children|wife|husband)|yourself|yourselves|him|her|them all|all of them"
    r"|their families)"
)
_THREAT = re.compile(
    rf"\b(?:will|'ll|going to|gonna|want to|should|must|let's|go|to)\s+(?:\w+\s+){{0,4}}?"
    rf"(?:kill|hurt|shoot|murder|stab|rape|lynch|beat up|destroy|hunt down|burn|strangle|hang|poison"
    rf"|attack)\s+{_PERSON}\b"
    r"|\bkill yoursel|\bshould (?:all |just |simply )?(?:be (?:shot|killed|exterminated|hanged|lynched|executed"
    r"|wiped out|eliminated|deported|banned)|die)\b"
    r"|\b(?:leak|publish|release|expose|share)\b.{0,15}\byour\b.{0,20}\b(?:photos|pictures|history|secrets?|data|videos?)"
    r"|\bif you (?:don't|do not) (?:pay|send)\b|\bi hope (?:you|they|he|she) (?:\w+\s+){0,4}?(?:die|suffer"
    r"|cancer)\b|\b(?:kill|exterminate|lynch|wipe out) (?:all|every) (?:the |of )?"
    r"(?!process|job|task|enem|monster|zombie|worker|thread|child|the\b|bug|alien|running|of )\w+"
    r"|\bi know where you live\b|\byou(?:'ll| will) (?:regret"
    r"|pay for) (?:this|it)\b|\bdeserves? to (?:die|suffer|be hurt)\b",
    re.IGNORECASE,
)
_HATE = re.compile(
    rf"\b(?:all |most |every )?{_GROUP}\s+(?:are|is|should be|will always be|can't|cannot|can not"
    rf"|don't deserve|do not deserve|belong in"
    rf"|have no place|ruin|steal|deserve|shouldn't|should not|are not)\b[^.!?\n]{{0,60}}\b"
    rf"(?:{_BAD}|kitchen|drive|vote|lead|work|rights|respect|jobs|country|trusted|allowed|educated|banned|deported|leaders?|science|math)\b"
    rf"|\b(?:hate|despise|can't stand|get rid of|ban|deport|exterminate|death to|kill) (?:all |every "
    rf"|those |the )*{_GROUP}(?![\w'])"
    rf"|\b{_GROUP} (?:are|is) (?:naturally |genetically |inherently )?(?:superior|better|smarter|worse) (?:to|than)\b"
    rf"|\b{_GROUP} (?:are|is) (?:ruining|destroying|stealing|invading|polluting|taking over)\b"
    rf"|\b{_GROUP} (?:should|must) (?:all )?(?:go back|leave|get out|stay (?:home|away))\b"
    rf"|\bnobody (?:wants|needs) {_GROUP} here\b|\b(?:do not|don't) belong (?:here|in our)\b|\bdrive them out\b"
    r"|\b(?:superior|master|inferior) race\b|\bwhite (?:power|supremacy)\b|\bgo back to your country\b",
    re.IGNORECASE,
)
_LIE = re.compile(
    r"\bvaccin\w+\b.{0,30}\b(?:cause|autism|microchip|kill|dangerous|poison|alter)|\b5g\b.{0,40}\b(?:virus|covid|cancer|spread|mind)"
    r"|\bmoon landing\b.{0,30}\b(?:fake|hoax|staged)|\bfaked the moon\b|\b(?:the )?earth is (?:actually "
    r"|really )?flat\b"
    r"|\b(?:climate change|global warming|covid(?:-19)?|the pandemic|the holocaust"
    r"|evolution)\b.{0,25}\b(?:hoax|myth|fake|lie|invented|never happened)\b"
    r"|\b(?:cures?|cured|reverses?|heals?|eliminates?)\b.{0,20}\b(?:cancer|diabetes|aids|hiv|autism"
    r"|alzheimer'?s|covid\S*|all diseases)\b"
    r"|\b(?:bleach|disinfectant)\b.{0,30}\b(?:drink|inject|cure|treat)|\b(?:drink|inject)\w* (?:bleach|disinfectant)\b"
    r"|\bdoctors (?:hate|don't want)|\b(?:guaranteed|instant) (?:cure|profit|returns|weight loss|results)\b"
    r"|\b(?:election|vote) (?:was|is) (?:stolen|rigged)\b|\bbreaking(?: news)?\s*:|\byou (?:don't"
    r"|do not) need (?:a doctor|medication|insulin)\b"
    r"|\bsmoking (?:is (?:good|healthy|safe)|(?:cures|improves|prevents))|\baliens? (?:have )?(?:landed"
    r"|invaded)|\bmiracle (?:cure|pill|diet)\b"
    r"|\bstudy proves\b|\bexperts (?:say|warn|agree)\b|\bmind control\b|\bchemtrails\b|\billuminati\b"
    r"|\bnew world order\b|\bshocking\s*:|\byou won't believe\b"
    r"|\blost \d+ (?:kg|kilos|pounds|lbs) in\b|\bchanged my life\b|\$[\d,]{5,}.{0,80}\b(?:bank|account|card)\b"
    r"|\b(?:100% (?:guaranteed|safe|effective|proven)|scientists (?:have )?(?:confirm|prove)\w* that)\b",
    re.IGNORECASE,
)
_RECIPE = re.compile(
    r"\b(?:how to|steps? to|guide to|instructions? (?:for|to)|recipe for|to)\s+(?:\w+\s+)?(?:make|making"
    r"|build|building|cook|cooking|synthesi[sz]e|construct|create|assemble)"
    r"\s+(?:an?\s+|your own\s+)?(?:\w+\s+)?(?:bombs?|explosives?|meth(?:amphetamine)?|molotov|napalm"
    r"|nerve gas|sarin|ricin|silencer|ghost gun|poison gas|grenade|heroin|lsd)\b"
    r"|\bammonium nitrate\b.{0,60}\bfuel\b|\b(?:ways?|how) to (?:kill|hurt|harm) (?:yourself|someone"
    r"|somebody|people|a person)\b"
    r"|\bhow to (?:commit suicide|hack into|steal a|pick someone|forge|launder money|get away with"
    r"|shoplift|cheat on taxes)\b",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"you|are |is |hate|kill|hurt|die|vaccin|moon|earth|5g|cure|hoax|how to|guide|recipe|to make|break"
    r"|guarant|doctor|race\b|power|supre|steal|ruin|steps|instruct|ways|belong|deserve|inferior|must|should|want|mind|chem|lost|chang|\$|shock|filthy|shut|leak|publish|hope|study|expert|extermin|wipe|deport"
    r"|[a-z]\*|" + _SLUR.pattern,
    re.IGNORECASE,
)


def judge(text: str) -> Rule | None:
    """The rule that a text breaks, if any."""
    text = text[:MAX_TEXT]
    if len(text) < 5 or not _HINT.search(text):
        return None
    if _SLUR.search(text) or _INSULT.search(text) or _THREAT.search(text):
        return INSULT
    if _HATE.search(text):
        return HATE
    if _RECIPE.search(text):
        return RECIPE
    return LIE if _LIE.search(text) else None


_MESSAGES = {
    INSULT.id: "holds an insult or a threat",
    HATE.id: "speaks of a group of people with contempt",
    LIE.id: "holds a known falsehood",
    RECIPE.id: "tells how to do harm",
}


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    seen: set[str] = set()
    for node in program.nodes(ast.Constant, ast.JoinedStr, ast.BinOp):
        if program.clock.is_over:
            return
        if isinstance(node, ast.Constant):
            parent = program.parent(node)
            if not isinstance(node.value, str) or isinstance(parent, (ast.Expr, ast.JoinedStr)):
                continue
            text = _PLACE.sub(HOLE, node.value)
        elif isinstance(node, ast.BinOp):
            if isinstance(program.parent(node), ast.BinOp) or not isinstance(node.op, ast.Add):
                continue
            text = next((value for value in program.values(node) if isinstance(value, str)), "")
        else:
            assert isinstance(node, ast.JoinedStr)
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
        rule = None if text in seen else judge(text)
        seen.add(text)
        if rule is not None:
            yield rule.at(node.lineno, _MESSAGES[rule.id], node.col_offset + 1)


_PLACE = re.compile(r"\{\w*\}|%s")


_QUOTED = re.compile(r"\"([^\"\n]{5,600})\"|'([^'\n]{5,600})'")
_VARIABLE = re.compile(r"\$\{?\w+\}?")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for number, line in enumerate(script.lines, 1):
        if script.clock.is_over:
            return
        for found in _QUOTED.finditer(line[:2000]):
            rule = judge(_VARIABLE.sub(HOLE, found[1] or found[2]))
            if rule is not None:
                yield rule.at(number, _MESSAGES[rule.id], found.start() + 1)
                break
    for command in script.commands:
        words = " ".join(command.args) if command.name == "echo" else ""
        rule = judge(command.body or words)
        if rule is not None:
            yield rule.at(command.line, _MESSAGES[rule.id], command.column)
