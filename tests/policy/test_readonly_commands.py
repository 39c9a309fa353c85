import pytest

from lcc_sidecar.policy.readonly_commands import is_read_only_command
from lcc_sidecar.verify.recoverable import only_reads

READING = [
    "ls",
    "ls -la src",
    "find . -name '*.py'",
    "rg -n 'a|b' src",
    'grep -rn "foo bar" .',
    "grep -io word file",
    "git status",
    "git diff HEAD~1 -- a.py",
    "git log --oneline -5",
    "git show abc123",
    "cat a.py",
    "head -n 20 a.py",
    "tail -n 20 a.py",
    "sed -n '3,9p' a.py",
    "wc -l a.py",
    "tree -L 2",
    "pwd",
    "python3 --version",
]
MORE = [
    "",
    "rm a",
    "ls | wc",
    "ls > out",
    "ls; rm a",
    "ls && rm a",
    "ls $(rm a)",
    'cat "$(rm a)"',
    'cat "`rm a`"',
    "ls `rm a`",
    "X=1 ls",
    "ls\nrm a",
    "ls & rm a",
    "cat <(rm a)",
    "cat \\\n a",
    "find . -exec rm {} +",
    "find . -delete",
    "find . -execdir rm x",
    "find . -okdir rm x",
    "find . -fprint out",
    "find . -fls out",
    "rg --pre ./evil x",
    "rg --hostname-bin ./evil x",
    "git commit -m x",
    "git -c core.pager=evil log",
    "git diff --output=out",
    "git diff --ext-diff",
    "git",
    "sed -i s/a/b/ a.py",
    "sed -n '3,9p;w out' a.py",
    "sed -n 3,9p -i a.py",
    "tail -f log",
    "tail -Fn 3 log",
    "tail --follow log",
    "tree -o out",
    "tree -LRH 2 .",
    "./cat a",
    "python3 x.py --version",
    "evil --version",
    "cat 'unclosed",
    "cat /dev/zero",
    "head -c 9999999999 /dev/zero",
    "tail --fol x",
    "tail --retr x",
    "tree --output x",
    "git diff --outp=x",
    "/any/path/git --version",
    "./python --version",
    "ls *.py",
    "cat ~/a",
    "cat a?.py",
    "sudo ls",
    "env ls",
]


@pytest.mark.parametrize("command", READING)
def test_a_command_that_only_reads_is_allowed(command):
    assert is_read_only_command(command)


@pytest.mark.parametrize("command", MORE)
def test_a_command_that_may_do_more_is_refused(command):
    assert not is_read_only_command(command)


@pytest.mark.parametrize("command", READING)
def test_the_verifier_of_its_own_accord_allows_what_only_reads(command):
    assert only_reads(command)


@pytest.mark.parametrize("command", MORE)
def test_the_verifier_of_its_own_accord_refuses_what_may_do_more(command):
    assert not only_reads(command)
