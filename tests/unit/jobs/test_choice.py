"""What ``--project`` chooses."""

import pytest

from slowwave.errors import NotFoundError
from slowwave.stores.projects import chosen_by, left_beside

PROJECTS = [("-home-ana-quill", "/home/ana/quill"), ("-srv-tern", ""), ("-srv-x", "/srv/quill-docs")]


NONE: list[tuple[str, str]] = []


def chosen(text: str, among: list[tuple[str, str]] = PROJECTS) -> list[str]:
    return [key for key, _ in chosen_by(text, among, lambda names: names)]


def test_a_part_of_the_key_or_of_the_folder_chooses() -> None:
    assert chosen("quil") == ["-home-ana-quill", "-srv-x"]
    assert chosen("/srv/") == ["-srv-x"]
    assert chosen("") == ["-home-ana-quill", "-srv-tern", "-srv-x"]


def test_what_is_exactly_the_name_of_one_means_that_one_alone() -> None:
    among = [
        ("D:\\posh", "D:\\posh"),
        ("D:\\posh\\-worktrees-1", ""),
        ("-home-ana-posh", "/home/ana/posh"),
        ("-srv-posh", ""),
    ]
    assert chosen("D:\\posh", among) == ["D:\\posh"]
    assert chosen("/home/ana/posh", among) == ["-home-ana-posh"]
    assert chosen("-srv-posh", among) == ["-srv-posh"]
    assert chosen("posh", among) == ["-home-ana-posh"]  # as every screen calls it
    assert len(chosen("osh", among)) == len(among)


def test_worktrees_of_what_is_named_are_known_to_be_left() -> None:
    among = [("-home-ana-tern", "/home/ana/tern"), ("-home-ana-tern--worktrees-1", ""), ("-home-ana-quill", "")]
    assert [key for key, _ in left_beside("tern", among, lambda names: names)] == ["-home-ana-tern--worktrees-1"]
    assert left_beside("", among, lambda names: names) == []
    assert left_beside("ana", among, lambda names: names) == []


def test_what_matches_nothing_is_an_error_that_names_what_there_is() -> None:
    with pytest.raises(NotFoundError, match="no project matches 'owl'; found: quill, srv-tern, srv-x"):
        chosen("owl")
    with pytest.raises(NotFoundError, match="found: none"):
        chosen("owl", NONE)
    assert chosen("", NONE) == []


def test_of_many_projects_the_error_names_some_and_says_how_many_there_are_besides() -> None:
    many = [(f"-srv-number{number:02}", "") for number in range(20)] + [("-srv-zebra", "")]
    with pytest.raises(NotFoundError, match=r"did you mean srv-zebra\?; found: srv-number00, .*07 and 13 more$"):
        chosen("srv-zabra", many)
