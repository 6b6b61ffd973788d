"""Rules in other languages, and rules that no "always" marks: found in many wordings, and nothing where none is."""

# ruff: noqa: RUF001 - sentences of many languages

from pathlib import Path

import pytest

from slowwave.extraction.miners.languages import language_of
from slowwave.extraction.sentences import spelled
from tests.unit.extraction.talk import Talk
from tests.unit.extraction.test_miners import mined

RULES = {
    "de": (
        "Schreib Commit-Nachrichten bitte grundsätzlich auf Englisch",
        "Künftig keine Änderungen am Schema ohne Migration",
        "Wir nennen das Modul Kasse, nicht Checkout",
        "Jeder Endpunkt muss einen Test haben",
        "Keine Passwörter in den Logs bitte",
    ),
    "fr": (
        "Écris systématiquement les messages de commit en anglais",
        "Dorénavant les migrations passent par la revue",
        "On utilise ruff dans ce projet",
        "Chaque endpoint doit avoir un test",
        "n'oublie pas que la base de test est en lecture seule",
    ),
    "es": (
        "Escribe siempre los mensajes de commit en inglés",
        "De ahora en adelante las migraciones pasan por revisión",
        "Usamos ruff en este proyecto",
        "Cada endpoint tiene que llevar una prueba",
        "Nunca borres datos sin avisar",
    ),
    "pt": (
        "Escreva sempre as mensagens em inglês",
        "Nunca apague dados sem avisar",
        "Os testes devem usar o banco real",
    ),
    "it": (
        "Scrivi sempre i messaggi in inglese",
        "Non cancellare mai i dati senza avvisare",
        "Usiamo ruff in questo progetto",
    ),
    "nl": (
        "Schrijf berichten altijd in het Engels",
        "Voortaan geen migraties zonder review",
        "Wij gebruiken hier ruff",
    ),
    "sv": (
        "Skriv alltid meddelanden på engelska",
        "Radera aldrig data utan att fråga",
        "Vi använder ruff i det här projektet",
    ),
    "pl": (
        "Zawsze pisz komunikaty po angielsku",
        "Nigdy nie usuwaj danych bez pytania",
        "U nas używamy ruff do lintowania",
    ),
    "ru": (
        "Всегда пиши сообщения на английском",
        "Никогда не удаляй данные без вопроса",
        "Мы используем ruff в этом проекте",
    ),
    "tr": ("Mesajları her zaman İngilizce yaz", "Bundan sonra testleri önce çalıştır"),
    "zh": ("提交信息一律用英文写", "不要修改已经发布的迁移文件", "我们项目用 ruff"),
    "ja": ("コミットメッセージは必ず英語で書いてください", "公開済みのマイグレーションは変更しないでください"),
    "ko": ("커밋 메시지는 항상 영어로 작성해 주세요", "배포된 마이그레이션은 수정하지 마세요"),
}
LAPSES = (
    "der Test schlägt immer noch fehl",
    "das habe ich noch nie gesehen",
    "wir nehmen heute die andere Variante",
    "ça ne marche toujours pas",
    "nunca he visto este error",
    "la prueba siempre falla a la tercera",
    "o teste sempre falha na segunda vez",
    "non funziona mai al primo colpo",
    "тест всегда падает на третий раз",
    "これは何のためですか？",
    "这次先不要提交",
)
FORMS = (
    "we lint with ruff, strict mode",
    "no singletons in this codebase, only plain functions",
    "table names are snake_case and end with the plural",
    "the cache listens on port 6390",
    "rule: no magic strings",
    "colons, not dashes",
    "nver squash a release branch",
    "Allways keep the schema in sync",
    "I don't accept commented-out code",
    "you need DJANGO_ENV=dev for all scripts in this repo",
    "When you change the schema, update the docs each time.",
)
NOTHING = (
    "no idea what happened here",
    "no, the other one, not this",
    "the header is red, not sure why",
    "we go for a walk now",
    "it always crashes when I scroll, every time",
    "the server runs on port 4000 now, can you look",
    "names are wrong in the third row",
    "no errors in the console",
    "use the second one",
)


@pytest.mark.parametrize(("language", "words"), [(lang, words) for lang, every in RULES.items() for words in every])
def test_a_rule_in_another_language_is_kept_in_it(tmp_path: Path, language: str, words: str) -> None:
    found = mined(tmp_path, Talk().person("go on").bash("ls").assistant("I looked.").person(words), 0.6)
    assert found, language
    assert all(c.text in words for c in found)


@pytest.mark.parametrize("words", [*LAPSES, *NOTHING])
def test_what_only_sounds_like_a_rule_is_none(tmp_path: Path, words: str) -> None:
    assert mined(tmp_path, Talk().person("go on").bash("ls").assistant("I looked.").person(words), 0.6) == []


@pytest.mark.parametrize("words", FORMS)
def test_a_rule_without_a_marker_is_found(tmp_path: Path, words: str) -> None:
    assert mined(tmp_path, Talk().person("go on").bash("ls").assistant("I looked.").person(words), 0.6)


def test_a_list_below_a_heading_of_rules_is_read_item_by_item(tmp_path: Path) -> None:
    words = "Rules for this repo:\n- no barrel files\n- hooks live in src/hooks\n- zod instead of yup"
    texts = [c.text for c in mined(tmp_path, Talk().person("go on").bash("ls").assistant("ok").person(words), 0.6)]
    assert any("no barrel files" in text for text in texts)
    assert any("zod instead of yup" in text for text in texts)
    tasks = "Things to do:\n- rename the button\n- look at the header"
    assert mined(tmp_path, Talk().person("go on").bash("ls").assistant("ok").person(tasks), 0.6) == []


def test_the_language_is_that_of_the_function_words() -> None:
    assert language_of("please use the new button for this") is None
    for name in ("de", "fr", "es", "pl", "ru", "sv"):
        found = language_of(RULES[name][0])
        assert found is not None
        assert found.name == name


def test_a_marker_is_read_as_it_is_meant_and_other_words_stay() -> None:
    assert spelled("allways nver pls dont") == "always never please don't"
    for word in ("fever", "newer", "lever", "ways", "lease", "shoulder", "ever"):
        assert spelled(word) == word
