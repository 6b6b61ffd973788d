"""``slowwave completion``: commands, actions, jobs, options and settings at the press of a key in bash, zsh and fish.

The scripts only ask: each time ``slowwave completion words`` looks at the parsers, so that what is offered is what the
installed version takes.
"""

import argparse
import re
from collections.abc import Iterator, Sequence

from slowwave.cli.terminal import Parser, say
from slowwave.errors import DONE
from slowwave.jobs import JOBS

_FILES, _FOLDERS = ":files", ":folders"
_LIST = re.compile(r"[a-z]+(\|[a-z]+)+")  # how `show|accept|reject` names words that argparse does not check

_BASH = """\
_slowwave() {
    local line IFS=$'\\n' now="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while read -r line; do
        case "$line" in
            :files) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$now")) ;;
            :folders) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$now")) ;;
            *) line="${line%%$'\\t'*}"; COMPREPLY+=("$line"); [[ "$line" == *= ]] && compopt -o nospace ;;
        esac
    done < <(slowwave completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _slowwave slowwave"""
_ZSH = """\
#compdef slowwave
_slowwave() {
    local line name
    local -a found unfinished
    for line in "${(@f)$(slowwave completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        name="${${line%%$'\\t'*}//:/\\\\:}"
        case "$line" in
            :files) _files ;;
            :folders) _files -/ ;;
            *=$'\\t'*) unfinished+=("$name:${line#*$'\\t'}") ;;
            ?*) found+=("$name:${line#*$'\\t'}") ;;
        esac
    done
    (( $#found )) && _describe -V slowwave found
    (( $#unfinished )) && _describe -V setting unfinished -S ''
}
if [ "$funcstack[1]" = _slowwave ]; then _slowwave "$@"; else compdef _slowwave slowwave; fi"""
_FISH = """\
function __slowwave_words
    for line in (slowwave completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c slowwave -f -a '(__slowwave_words)'"""
# shell -> (its script, how it is switched on)
_SHELLS = {
    "bash": (_BASH, 'eval "$(slowwave completion bash)"    in ~/.bashrc'),
    "zsh": (_ZSH, 'eval "$(slowwave completion zsh)"     in ~/.zshrc, behind compinit'),
    "fish": (_FISH, "slowwave completion fish > ~/.config/fish/completions/slowwave.fish"),
}


def configure(parser: Parser) -> None:
    """Declare the options of ``slowwave completion``."""
    parser.add_argument("shell", choices=(*_SHELLS, "words"), metavar="|".join(_SHELLS), help="the shell")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.usage = f"slowwave completion {'|'.join(_SHELLS)}"
    parser.is_laid_out = parser.needs_word = True
    parser.epilog = "how it is switched on:\n" + "\n".join(f"  {shell:<5} {how}" for shell, (_, how) in _SHELLS.items())


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell; or, as the scripts ask, what the last of some words can become."""
    if args.shell != "words":
        say(_SHELLS[args.shell][0])
        return DONE
    # as they were written: argparse takes each `--` for its own
    for word, summary in offered(args.parser.behind[2:] or [""]):
        say(f"{word}\t{summary}" if not word.startswith(":") else word)
    return DONE


def offered(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return what the last word of a command line can become, each with what it is for.

    Args:
        words: those behind ``slowwave``, the last one as far as it is written; bash breaks them at each ``=``.

    Returns:
        words that begin so, or instead ``:files`` or ``:folders``: the shell knows them best.
    """
    *before, now = words[1:] if words[0] == "help" and len(words) > 1 else words
    if now == "=" or "=" in before[-1:]:
        return []
    parser, waits = _parser_behind(before)
    every = _values(waits) if waits is not None else _next(parser, now, before) if parser is not None else ()
    return [(word, summary) for word, summary in every if word.startswith((now, ":"))]


def _parser_behind(words: Sequence[str]) -> tuple[Parser | None, argparse.Action | None]:
    """Return the parser that takes what follows some words, and the option that waits for its value, if any does.

    Behind a command that is not there nothing can follow.
    """
    from slowwave.cli import command_line  # noqa: PLC0415 - which imports this module

    # help on a job is what declares the options of that job alone
    is_run = words[:1] == ["run"] and set(words) & set(JOBS)
    parser, waits = command_line([*words, "--help"] if is_run else words), None
    for word in words:
        if waits is not None or word == "=":
            waits = None
        elif word.startswith("-"):
            option = parser.option(word)
            waits = option if option is not None and option.nargs != 0 else None
        else:
            if parser.below and word not in parser.below:
                return None, None
            parser = parser.below.get(word, parser)
    return parser, waits


def _values(option: argparse.Action) -> Iterator[tuple[str, str]]:
    """Yield what can follow an option."""
    yield from ((str(choice), "") for choice in option.choices or ())
    if option.metavar == "KEY=VALUE":
        from slowwave.settings import SECTIONS, described  # noqa: PLC0415 - only here

        yield from ((f"{key}=", meaning) for section in SECTIONS for key, _, meaning in described(section))
    yield from _places(option)


def _places(action: argparse.Action) -> Iterator[tuple[str, str]]:
    names = str(action.metavar or "").split("|")
    if "DIR" in names:
        yield _FOLDERS, ""
    elif {"FILE", "PATH"} & set(names):
        yield _FILES, ""


def _next(parser: Parser, now: str, before: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the words that can follow; where there are none, or one begins with a dash, the options."""
    found = [(name, below.description or "") for name, below in parser.below.items()]
    for action in parser.arguments:
        listed = str(action.metavar).split("|") if _LIST.fullmatch(str(action.metavar)) else ()
        words = [] if parser.below else [str(word) for word in listed or action.choices or () if word]
        found += [(word, _about(word)) for word in words if not set(words) & set(before)]
        found += _places(action)
    if found and not now.startswith("-"):
        yield from found
        return
    for option in parser.options:
        name = next((one for one in option.option_strings if one.startswith("--")), "")
        if name and option.help != argparse.SUPPRESS:
            yield name, option.help or ""


def _about(word: str) -> str:
    from slowwave.cli.run import ABOUT  # noqa: PLC0415 - only for its jobs

    return ABOUT.get(word, "")
