"""The topic files of a memory folder: one for each category, with the front matter that clients scan."""

from collections.abc import Mapping
from typing import NamedTuple

from slowwave.memory.model import Category

INDEX = "MEMORY.md"
# the four kinds that Cersei and Claude Code know in front matter: user, feedback, project, reference


class Topic(NamedTuple):
    """A topic file: its name, and what its front matter says."""

    file: str
    title: str
    description: str
    type: str


TOPICS: dict[Category, Topic] = {
    "constraint": Topic("constraints.md", "Constraints", "what must or must never be done here", "feedback"),
    "preference": Topic("preferences.md", "Preferences", "how the user wants things done", "user"),
    "decision": Topic("decisions.md", "Decisions", "what was decided, and holds until something newer", "project"),
    "project": Topic("project.md", "Project", "facts about this project", "project"),
    "pattern": Topic("patterns.md", "Patterns", "commands and ways of working that proved themselves", "reference"),
}
# what an index entry refers to when it is a pointer to a file and not a memory
POINTER = "file:"
# and when it is one to a page that somebody else wrote
PAGE = "page:"
_BRACKETS = str.maketrans("[]", "()")


def new_topic_file(category: Category) -> bytes:
    """Return the content of a topic file before its first memory."""
    topic = TOPICS[category]
    return (f"---\nname: {topic.title}\ndescription: {topic.description}\ntype: {topic.type}\n---\n\n").encode()


def new_index_file() -> bytes:
    """Return the content of the index before its first line."""
    return b"# Memory\n\n"


def memory_line(text: str) -> str:
    """Return the bullet line of a memory: always one line, whatever the text holds."""
    return "- " + " ".join(text.split())


def fact_line(category: Category, text: str, since: str) -> str:
    """Return the bullet line of a fact: a decision says since when it holds, where that is known and not said yet.

    Args:
        category: of the fact.
        text: its words.
        since: ISO time, or "".
    """
    day = since[:10]
    return memory_line(f"{text} ({day})" if category == "decision" and day and day not in text else text)


def page_line(file: str, front: Mapping[str, str]) -> str:
    """Return the line of the index that leads to a page which somebody else wrote."""
    title = " ".join(front.get("name", "").split()) or file.removesuffix(".md").replace("_", " ").replace("-", " ")
    told = " ".join(front.get("description", "").split())
    return f"- [{title.translate(_BRACKETS)}]({file})" + (f": {told}" if told else "")


def pointer_line(category: Category, number: int) -> str:
    """Return the line of the index that leads to a topic file."""
    topic = TOPICS[category]
    noun = "memory" if number == 1 else "memories"
    return f"- [{topic.title}]({topic.file}): {topic.description} ({number} {noun})"
