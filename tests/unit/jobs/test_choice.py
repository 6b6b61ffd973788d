"""What ``--project`` chooses."""

import pytest

from slowwave.errors import NotFoundError
from slowwave.jobs.choice import chosen_by

PROJECTS = [("-home-ana-quill", "/home/ana/quill"), ("-srv-tern", ""), ("-srv-x", "/srv/quill-docs")]


NONE: list[tuple[str, str]] = []


def chosen(text: str, among: list[tuple[str, str]] = PROJECTS) -> list[str]:
    return [key for key, _ in chosen_by(text, among, lambda names: names)]


def test_a_part_of_the_key_or_of_the_folder_chooses() -> None:
    assert chosen("quill") == ["-home-ana-quill", "-srv-x"]
    assert chosen("/srv/") == ["-srv-x"]
    assert chosen("") == ["-home-ana-quill", "-srv-tern", "-srv-x"]


def test_what_matches_nothing_is_an_error_that_names_what_there_is() -> None:
    with pytest.raises(NotFoundError, match="no project matches 'owl'; found: -home-ana-quill, -srv-tern, -srv-x"):
        chosen("owl")
    with pytest.raises(NotFoundError, match="found: none"):
        chosen("owl", NONE)
    assert chosen("", NONE) == []
