"""`python -m tests.fuzz`: feed mutated seeds to the targets until the time is up or a promise is broken."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fuzz.mutations import mutate
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).with_name("corpus")
LONGEST_INPUT = 100_000
_LONGEST_KEPT = 3_000
_KEPT_TEXTS = 500

Target = Callable[[str], None]


def read_seeds(corpus: Path) -> list[str]:
    """Every text of the corpus: JSON objects of lists, as in seeds.json, and failures that an earlier run kept."""
    return [
        text
        for path in sorted(corpus.glob("*.json"))
        for texts in json.loads(path.read_text()).values()
        for text in texts
    ]


def broken(targets: Sequence[Target], text: str) -> tuple[Target, Exception] | None:
    """The first target that the text breaks."""
    for target in targets:
        try:
            target(text)
        except Exception as error:
            return target, error
    return None


def shrink(target: Target, text: str, kind: type[Exception], until: float) -> str:
    """A shorter text that breaks the target in the same way, found by leaving out pieces until the time is up."""
    size = max(1, len(text) // 2)
    while size:
        place = 0
        while place < len(text) and time.monotonic() < until:
            shorter = text[:place] + text[place + size :]
            failure = broken([target], shorter)
            if failure is not None and type(failure[1]) is kind:
                text = shorter
            else:
                place += size
        size //= 2
    return text


def fuzz(targets: Sequence[Target], seeds: Sequence[str], *, seconds: float, seed: int, keep: Path) -> int:
    """Run until the time is up (0) or something breaks (1: the text is kept as a JSON file that serves as a seed)."""
    random = Random(seed)
    texts = list(seeds)
    end = time.monotonic() + seconds
    fed = 0
    while fed < len(seeds) or time.monotonic() < end:
        text = seeds[fed] if fed < len(seeds) else mutate(random, random.choice(texts), texts)[:LONGEST_INPUT]
        fed += 1
        failure = broken(targets, text)
        if failure is not None:
            _report(*failure, text, keep)
            return 1
        if len(text) > _LONGEST_KEPT:
            continue
        if len(texts) < _KEPT_TEXTS:
            texts.append(text)
        else:
            texts[random.randrange(len(seeds), _KEPT_TEXTS)] = text
    sys.stdout.write(f"{fed:,} texts in {seconds:g} s with seed {seed}: every promise kept.\n")
    return 0


def _report(target: Target, error: Exception, text: str, keep: Path) -> None:
    short = shrink(target, text, type(error), time.monotonic() + 20)
    name = target.__name__
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"{name}-{hashlib.sha256(short.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}.json"
    path.write_text(json.dumps({name: [short]}) + "\n")
    traceback.print_exception(type(error), error, error.__traceback__)
    sys.stderr.write(
        f"{name} broke on {short[:500]!a}\nThe text is kept in {path}; add it to {CORPUS.name}/ once mended.\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long to run (600)")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run; by default each run is another")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="directory of seeds (*.json)")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where a text that breaks is kept")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else Random().randrange(2**32)
    return fuzz(TARGETS, read_seeds(options.corpus), seconds=options.seconds, seed=seed, keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
