"""Shell lines taken apart: words, quotes, documents, substitutions; text is never a command, and no line is too odd."""

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.shell import Command, folder_of, script_of
from slowwave.shell.commands import commands_of


def only(line: str) -> Command:
    """Return the command of a line that is one."""
    (chain,) = script_of(line).chains
    (part,) = chain.pipelines[0].parts
    assert isinstance(part, Command)
    return part


def texts(line: str) -> list[str]:
    """Return the words of a line that is one command."""
    return [word.text for word in only(line).words]


def programs(line: str) -> list[str]:
    """Return the programs of a line that are told of."""
    return [one.program for one in commands_of(line)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ('echo "a \\"b\\" $ \\x"', ["echo", 'a "b" $ \\x']),
        ("echo $'a\\nb' $\"c\"", ["echo", "a\nb", "c"]),
        ("a \\\n  b # not a word", ["a", "b"]),
        ("a#b", ["a#b"]),
        ("sudo -u me timeout -k 3 60 env -i A=1 make x", ["make", "x"]),
        ("A=1 B='x y' make", ["make"]),
        ("a=(x y) make", ["make"]),
        ("make 2>&1 >out.log <in.txt &>>all.log", ["make"]),
        ("command -v make", ["command", "-v", "make"]),
        ("env", ["env"]),
    ],
)
def test_words(line: str, words: list[str]) -> None:
    assert texts(line) == words
    assert not script_of(line).is_torn


def test_a_word_says_whether_it_stands_for_itself() -> None:
    assert [word.is_plain for word in only("a 'b*' c* \"$d\" $(e) '$f' \\$g").words] == [
        True, True, False, False, False, True, True,
    ]  # fmt: skip


def test_files_and_documents_belong_to_their_command() -> None:
    line = "cat <<-'A' - <<B >out.txt\n\tone\n\tA\ntwo 'x\nB\nmake test"
    (first, second) = script_of(line).chains
    cat = first.pipelines[0].parts[0]
    assert isinstance(cat, Command)
    assert cat.documents == ["\tone", "two 'x"]
    assert [word.text for word in cat.writes] == ["out.txt"]
    assert isinstance(second.pipelines[0].parts[0], Command)
    assert second.pipelines[0].parts[0].text == "make test"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a && b || c; d & e\nf | g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("cd x && (a; b) && { c; }", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi && f", ["a", "b", "c", "d", "e", "f"]),
        ("for x in a b; do c; done; while read y; do d; done < f", ["c", "read", "d"]),
        ("case $x in a|b) c;; (*) d ;; esac; e", ["c", "d", "e"]),
        ("f() { rm x; }; function g { rm y; }\nh", ["h"]),
        ("[[ $a && ( $b < c ) ]] && d", ["d"]),
        ("(( x < 3 )); echo $((1 << 2)); a", ["a"]),
        ("! a | b", ["a", "b"]),
        ("x=$(make build) && y", ["make", "y"]),
        ("bash -lc 'cd x && make test | tail -3'", ["make"]),
        ("eval 'a; b'", ["a", "b"]),
        ('git commit -m "stop the worker; make test green again"', ["git"]),
        ('git commit -m "$(cat <<\'E\'\nit\'s done; make test && "x" (\n\nE\n)" && git push', ["git", "git"]),
        ("cat > a.sh <<'E'\nrm -rf /\nE\nmake", ["cat", "make"]),
        ("echo 'make test; make lint'; make", ["make"]),
        ("make # test; make lint", ["make"]),
        ("diff <(a) <(b)", ["diff"]),
        ("a ${x:-$(b; c)} `d; e`", ["a"]),
        ("make test 2>&1 | tee log | tail -5", ["make"]),
        ("git log | python3 x.py", ["git", "python3"]),
        (". ./env && .tools/check.sh all", ["check.sh"]),
        ("cat > note.md <<'END'\nrm -rf /\nEND\ndeskctl send --file note.md", ["cat", "deskctl"]),
    ],
)
def test_commands(line: str, found: list[str]) -> None:
    assert programs(line) == found
    assert not script_of(line).is_torn


@pytest.mark.parametrize("line", ["echo 'a; rm b", 'x "$(a', "a <<E\nb", "a `b", "(a", "a )", "if a; then b", "a ;; b"])
def test_a_torn_line_says_so(line: str) -> None:
    assert script_of(line).is_torn


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")), min_size=1, max_size=6))
def test_quoted_words_come_back(words: list[str]) -> None:
    line = shlex.join(["run", *words])
    assert texts(line) == ["run", *words]
    assert not script_of(line).is_torn


@given(st.text(st.sampled_from("abc ;&|()<>\n\"`$\\{}#!'"), max_size=40))
def test_text_in_quotes_is_never_a_command(text: str) -> None:
    for quoted in (
        shlex.quote(text),
        '"' + text.replace("\\", "").replace('"', "").replace("$", "").replace("`", "") + '"',
    ):
        assert programs(f"git commit -m {quoted} && make") == ["git", "make"]
    document = text.replace("END", "")
    assert programs(f"cat > f <<'END'\n{document}\nEND\nmake") == ["cat", "make"]


@given(st.text(st.sampled_from("ab =;&|()<>\n\"'`$\\{}[]#!-\0"), max_size=60))
def test_no_line_is_too_odd(line: str) -> None:
    script_of(line)
    commands_of(line)


@pytest.mark.parametrize(
    "unit",
    [
        '"',
        "'\"`",
        "$(",
        "${",
        '"$(',
        "`",
        "(",
        "{ ",
        "f()",
        "<<E\n",
        "<<E ",
        "a=(",
        "case x in ",
        "! ",
        "eval ",
        "$((",
        "| ",
    ],
)
def test_time_grows_with_the_length_and_no_faster(unit: str) -> None:
    def seconds(size: int) -> float:
        line = unit * (size // len(unit))
        begin = time.process_time()
        commands_of(line)
        return time.process_time() - begin

    seconds(1_000)
    small = seconds(125_000)
    # eight times the length
    assert seconds(1_000_000) < 8 * 4 * small + 0.5


@pytest.mark.parametrize(
    ("line", "command", "folder"),
    [
        ("cd src && make test", "", "src"),
        ("cd src && make test | tail -3", "make test", "src"),
        # where it ran is told only of what ran there
        ("cd src && make lint && cd ../web && make test", "make test", ""),
        ("cd src && make lint && cd ../web && make test", "make lint", "src"),
        ("make test && cd src", "make test", ""),
        ("cd $DIR && make test", "make test", ""),
    ],
)
def test_the_folder_that_a_line_goes_to_holds_up_to_the_next_one(line: str, command: str, folder: str) -> None:
    assert folder_of(line, command) == folder
