"""Messages built from a small grammar (``voice_grammar.txt``), so that no wording weighs more than its kind."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RULES = (
    "Always use {} as the package registry.",
    "All releases have to be signed with {} from today.",
    "Make sure to call {} before each commit.",
    "We settled on {} for logging, since it is the safest.",
    "Never merge without the approval of {}.",
    "I'd rather have {} than the stock linter in every service.",
    "Whenever you open a pull request, always add {} as reviewer.",
    "Use {} rather than the usual mirror for packages.",
    "From now on, every deploy goes through {}.",
    "I prefer {} over everything else.",
    "always run {} before you push",
    "You must never commit without {}.",
    "Our team grew a lot. Always use {} for packages.",
    "Use {} for every build. It saves a lot of time.",
    "There were many questions. Never push without {}.",
)
FOREIGN = {
    "de": "Benutze immer {} als Paketquelle.", "fr": "Utilise toujours {} comme source.",
    "es": "Usa siempre {} para instalar.", "it": "Usa sempre {} per i pacchetti.",
    "ru": "Всегда используй {} для пакетов.", "zh": "以后请始终使用 {} 安装依赖包。",
    "ja": "今後は必ず {} を使ってください。", "nl": "Gebruik altijd {} voor pakketten.",
    "pt": "Use sempre {} para os pacotes.",
}  # fmt: skip
_MARKS = {
    "de": "der die das bitte ist mir diesen dieser meine im kunde ich steht für nein dir",
    "fr": "mon le la cette bien est ce que traduis", "es": "mi el esta este un esto recuerda está",
    "it": "il mio cosa traduci sul guarda", "nl": "mijn collega", "pt": "o cliente",
}  # fmt: skip
_SCRIPTS = (("ru", "[\u0400-\u04ff]"), ("ja", "[\u3040-\u30ff]"), ("zh", "[\u4e00-\u9fff]"))
_SLOT = re.compile(r"\{(\w+)\}")
_SPACES = (" ", " ", "\n", "\n\n")


@dataclass(frozen=True, slots=True)
class Message:
    """A message around words that are others' or the person's own.

    Attributes:
        words: what stands in the gap, as often as it does.
        frame: the wording around the gap.
        part: the group of wordings that it belongs to.
    """

    text: str
    words: str
    frame: str
    part: str
    is_others: bool

    def has(self, begin: int, end: int) -> bool:
        """Say whether most of a part of the text stands in the gap."""
        size = len(self.text[begin:end].strip())
        places = (found.span() for found in re.finditer(re.escape(self.words), self.text))
        return any(2 * (min(end, stop) - max(begin, start)) > size for start, stop in places)


def language_of(frame: str) -> str:
    """Return the language of a frame, English where nothing shows another one."""
    script = next((name for name, letters in _SCRIPTS if re.search(letters, frame)), "")
    words = set(re.findall(r"\w+", frame.lower()))
    return script or next((name for name, marks in _MARKS.items() if len(words & set(marks.split())) > 1), "en")


@cache
def _slots() -> dict[str, list[str]]:
    text = (Path(__file__).parent / "voice_grammar.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for block in text.split("\n\n")[1:]:
        name, *lines = block.splitlines()
        found[name] = [value.strip().replace("\\n", "\n") for line in lines for value in line.split(" | ")]
    return found


class _Builder:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.frame = ""

    def one(self, *names: str) -> str:
        """Return a value of one of some slots, filled."""
        self.frame = template = self.chance.choice(_slots()[self.chance.choice(names)])
        while _SLOT.search(template):
            template = _SLOT.sub(lambda slot: self.chance.choice(_slots()[slot[1]]), template)
        return template[:1].upper() + template[1:] if self.chance.random() < 0.6 else template

    def mark(self, marks: tuple[str, ...]) -> str:
        return self.chance.choice(marks)

    def others(self, words: str) -> tuple[str, str]:
        """Return a message around words of others, and its wording."""
        said = f'"{words}"' if self.chance.random() < 0.3 else words
        kind = self.chance.random()
        if kind < 0.33:
            text = self.one("lead others") + self.mark((": ", ": ", ": ", ":\n", ":\n\n", " - ")) + said
        elif kind < 0.6:
            text = self.one("before others") + self.mark(_SPACES) + said
        elif kind < 0.68:
            text = self.one("above others") + self.mark(("\n", "\n\n")) + said
        elif kind < 0.93:
            text = said + self.mark(_SPACES) + self.one("behind others")
        else:
            text = self.one("around others").replace("{}", words)
        frame = self.frame
        if self.chance.random() < 0.6 and kind < 0.68:
            text += self.mark(_SPACES) + self.one("behind others", "behind own", "before own")
        if self.chance.random() < 0.3:
            text = self.one("before own") + self.mark((" ", "\n\n")) + text
        return text, frame

    def own(self, words: str) -> tuple[str, str]:
        """Return a message around a rule of one's own, and its wording."""
        if self.chance.random() < 0.15:
            more = self.mark((" ", "\n", "\n- ")) + self.one("also own") if self.chance.random() < 0.6 else ""
            return words + more, f"alone {self.chance.randrange(40)}"
        kind = self.chance.random()
        if kind < 0.08:
            text = self.one("quoting own") + self.mark((" ", "\n", "\n")) + words
        elif kind < 0.4:
            text = self.one("before own") + self.mark(_SPACES) + words
        elif kind < 0.65:
            text = words + self.mark((" ", " ", "\n\n")) + self.one("behind own")
        elif kind < 0.93:
            text = self.one("lead own") + self.mark((": ", ": ", ":\n", " - ")) + words
        else:
            text = self.one("above own") + self.mark(("\n", "\n\n")) + f"- {words}\n- " + self.one("before own")
        frame = self.frame
        if self.chance.random() < 0.3:
            text = self.one("before own") + " " + text
        if self.chance.random() < 0.3:
            text += self.mark((" ", "\n\n")) + self.one("behind own")
        return text, frame


def built(number: int, seed: int = 3) -> Iterator[Message]:
    """Yield so many messages of each kind."""
    builder = _Builder(seed)
    kinds: tuple[tuple[Callable[[str], tuple[str, str]], bool], ...] = ((builder.others, True), (builder.own, False))
    for _ in range(number):
        for build, is_others in kinds:
            words = builder.chance.choice(RULES).format("quartz")
            words = words[0].lower() + words[1:] if builder.chance.random() < 0.2 else words
            words = words.rstrip(".") if builder.chance.random() < 0.2 else words
            text, frame = build(words)
            yield Message(text, words, f"built: {frame}", "built", is_others)
