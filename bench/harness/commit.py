"""commit.py: how the commit that something was measured on stands to HEAD;
imported by all.py and page.py."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SOURCES = ("src", "sql", "Makefile")


def git(*words):
    """What it prints, or None."""
    try:
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", ROOT] + list(words),
            capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def head():
    return git("rev-parse", "--short", "HEAD")


def is_clean():
    return git("status", "--porcelain", "--", *SOURCES) == ""


def not_of_head(commit):
    """Why figures of a commit, as records have it, are not those of HEAD; None
    where nothing that is measured has changed since."""
    if not commit:
        return "of a commit that was not noted"
    if commit.endswith("+"):
        return "of %s with changes" % commit[:-1]
    if head() is None:
        return "of %s; HEAD is not known here" % commit
    if git("cat-file", "-e", commit + "^{commit}") is None:
        return "of %s, which is not in this clone" % commit
    if git("diff", "--quiet", commit, "HEAD", "--", *SOURCES) is not None:
        return None
    return "of %s, %s commits before HEAD" % (
        commit, git("rev-list", "--count", commit + "..HEAD"))
