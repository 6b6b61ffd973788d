"""Paths hold wherever they are read again."""

import pytest

from slowwave.extraction.candidates import relative_paths


@pytest.mark.parametrize(
    ("text", "cwd", "result"),
    [
        ("edit /home/ada/shop/src/a.py", "/home/ada/shop", "edit src/a.py"),
        ("in /home/ada/shop and", "/home/ada/shop/", "in . and"),
        ("/home/ada/shop-old/a.py", "/home/ada/shop", "/home/ada/shop-old/a.py"),
        (r"edit D:\code\shop\src\a.py", r"D:\code\shop", r"edit src\a.py"),
        ("/home/ada/x", "/home", "/home/ada/x"),
        ("/x/y", "", "/x/y"),
    ],
)
def test_paths_below_the_working_folder_are_written_from_there(text: str, cwd: str, result: str):
    assert relative_paths(text, cwd) == result


@pytest.mark.parametrize("spelled", ["D:\\code\\shop\\src", "/d/code/shop/src", "/mnt/d/code/shop/src"])
def test_a_windows_folder_is_known_however_a_shell_spells_it(spelled: str):
    assert relative_paths(f"run it in {spelled} only", "D:\\code\\shop") == "run it in src only"


def test_a_project_right_below_a_drive_counts_but_not_the_folder_of_all_users():
    assert relative_paths("run it in /d/shop/src", "D:\\shop") == "run it in src"
    assert relative_paths("it is in /c/Users/ada", "C:\\Users") == "it is in /c/Users/ada"
