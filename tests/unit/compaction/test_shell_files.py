"""What a shell line surely reads and changes, and what is not guessed at."""

import pytest

from slowwave.compaction.files import files_of_line

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n+x\n*** Add File: sub/b.py\n+y\n*** End Patch"
DIFF = "diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b"


def files(line: str, folder: str = "", *, failed: bool = False) -> list[str]:
    """Return the files of a line, each with r or m before it."""
    return [f"{touched.use[0]} {touched.path}" for touched in files_of_line(line, folder, failed=failed)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cat a.py b.py", ["r a.py", "r b.py"]),
        ("cat -n a.py | grep x", ["r a.py"]),
        ("head -n 20 a.py", ["r a.py"]),
        ("head -50 a.py && tail -c 9 b.py", ["r a.py", "r b.py"]),
        ("less 'a b.py'", ["r a b.py"]),
        ("sed -n '1,20p' a.py", ["r a.py"]),
        ("sed -n -e 1p -e 2p a.py", ["r a.py"]),
        ("nl -ba a.py | sed -n '1,9p'", ["r a.py"]),
        ("sort < in.txt", ["r in.txt"]),
        ("sudo cat /etc/hosts", ["r /etc/hosts"]),
        ("LANG=C timeout 5 cat a.py", ["r a.py"]),
        ("echo $(cat a.py)", ["r a.py"]),
        ("test -f a.py && cat a.py", ["r a.py"]),
        ("make || true && cat a.py", ["r a.py"]),
        ("bash -lc 'cd lib && cat a.py'", ["r lib/a.py"]),
        ('echo "$(cat a.py)"', ["r a.py"]),
        ("{ cat a.py; }", ["r a.py"]),
    ],
)
def test_readers(line: str, found: list[str]) -> None:
    assert files(line) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sed -i 's/a/b/' a.py b.py", ["m a.py", "m b.py"]),
        ("sed -i '' 's/a/b/' a.py", ["m a.py"]),
        ("sed -i.bak -e 's/a/b/' a.py", ["m a.py"]),
        ("echo x > a.txt", ["m a.txt"]),
        ("echo x >>a.txt 2>&1", ["m a.txt"]),
        ("make 2> err.log", ["m err.log"]),
        ("make &> all.log", ["m all.log"]),
        ("make | tee -a out.log b.log", ["m out.log", "m b.log"]),
        ("cat > a.py << 'EOF'\nrm b.py\nEOF", ["m a.py"]),
        ("cat <<EOF > a.py\nx\nEOF\ntouch b.py", ["m a.py", "m b.py"]),
        ("touch a.py", ["m a.py"]),
        ("rm -f a.py b", ["m a.py", "m b"]),
        ("rm -rf build old.py", ["m old.py"]),
        ("mv a.py b.py", ["m a.py", "m b.py"]),
        ("mv a.py lib/", ["m a.py", "m lib/a.py"]),
        ("mv a.py b.py lib", ["m a.py", "m b.py", "m lib/a.py", "m lib/b.py"]),
        ("git mv old.py new.py", ["m old.py", "m new.py"]),
        ("cp a.py b.py", ["m b.py"]),
        ("git rm --cached x.py", ["m x.py"]),
        ("git checkout -- a.py", ["m a.py"]),
        (f"git apply <<'EOF'\n{DIFF}\nEOF", ["m x.c"]),
        (f"apply_patch <<'PATCH'\n{PATCH}\nPATCH", ["m a.py", "m sub/b.py"]),
        (f"cd lib && apply_patch <<'PATCH'\n{PATCH}\nPATCH", ["m lib/a.py", "m lib/sub/b.py"]),
        (f"apply_patch '{PATCH}'", ["m a.py", "m sub/b.py"]),
    ],
)
def test_writers(line: str, found: list[str]) -> None:
    assert files(line) == found


@pytest.mark.parametrize(
    "line",
    [
        "cat *.py",
        'cat "$FILE"',
        "cat `ls`",
        "cat",
        "grep -n x a.py",
        "ls a.py",
        "if test -f a.py; then rm a.py; fi",
        "for f in a b; do cat c.py; done",
        "clean() { rm a.py; }",
        "git commit -m \"$(cat <<'E'\nit's > a.py\nE\n)\"",
        "test -f b.py || touch b.py",
        "test -f b.py && rm b.py; ls",
        "grep -q x a.py && rm b.py || true",
        "mv a b",
        "cp -r a.d b.d",
        "cp a.py tests",
        "rm -r build",
        "make > /dev/null 2>&1",
        "echo 'unclosed > a.py",
        f"git apply --check <<'EOF'\n{DIFF}\nEOF",
        "echo 'cat a.py > b.py'",
        "# cat a.py",
        "rg '<<<<<<<|>>>>>>>' | wc -l",
        "cat a/",
        "git checkout main",
    ],
)
def test_what_is_not_certain_is_left_out(line: str) -> None:
    assert files(line) == []


def test_paths_follow_the_folder_of_the_line_and_of_cd() -> None:
    assert files("cat a.py", "/repo") == ["r /repo/a.py"]
    assert files("cd lib && cat a.py; cd /etc; cat hosts", "/repo") == ["r /repo/lib/a.py", "r /etc/hosts"]
    assert files("(cd lib && cat a.py) && cat b.py", "/repo") == ["r /repo/lib/a.py", "r /repo/b.py"]
    assert files('cd "$X" && cat a.py /b.py', "/repo") == ["r /b.py"]


def test_of_a_line_that_failed_only_what_was_opened_before_counts() -> None:
    assert files("cat > a.py <<'E'\nx\nE\npython a.py", failed=True) == ["m a.py"]
    assert files("cat > a.py <<'E' && python a.py\nx\nE", failed=True) == ["m a.py"]
    assert files("make && sed -i s/a/b/ c.py && echo x > d.py", failed=True) == []
    assert files("sed -i s/a/b/ c.py", failed=True) == []


@pytest.mark.parametrize(
    "line", ["", "\n\n", "<<", "cat <<EOF", "((", "))", "&& ||", "> ", "\\", "a\x00b > c", "'" * 999]
)
def test_odd_lines_do_no_harm(line: str) -> None:
    assert all(touched.startswith(("r ", "m ")) for touched in files(line))
