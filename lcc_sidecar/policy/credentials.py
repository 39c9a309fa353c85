"""Which results show a credential file: they go into the stash only where the person allows it.

Pure, and no part of the pass: what stashes results at first sight asks the same question. It would
rather be wrong about a harmless result than about a key; but it knows files by their names and
private keys by their frame, and cannot know a secret that a program prints.
"""

import re
from collections.abc import Iterator

from lcc_sidecar.limits import PATH_MAX_CHARS
from lcc_sidecar.policy.reads import SHELL_TOOLS, working_directory
from lcc_sidecar.policy.targets import strings
from lcc_sidecar.transcript.model import ToolCall

_NAMES = (
    r"\.env(?:rc|[.*?\[][^/\s:]*)?",
    r"(?!(?:process|import\.meta|deno|bun)\.env)[^/\s:]+\.env",  # and not what code reads
    r"\.(?:netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg|my\.cnf|vault-token)",
    r"\.(?:s3cfg|boto|terraformrc|yarnrc\.yml|flaskenv|dev\.vars|vault_pass[^/\s:]*)",
    r"_netrc|pgpass\.conf|rclone\.conf|wireguard/[^/\s:]+\.conf|wp-config\.php",
    r"id_(?:rsa|dsa|ecdsa|ed25519)[^/\s:]*",
    # and not what code reads: `jq .items[].key`, `event.key`
    (
        r"(?!(?:[^/\s:]*\[\]|e|ev|event|this|self|obj|item|entry|node|props)\.key)"
        r"[^/\s:]+\.(?:pem|key|p12|pfx|kdbx|jks|keystore|ppk|ovpn|keytab)"
    ),
    r"[^/\s:]+\.(?:tfstate(?:\.backup)?|tfvars(?:\.json)?)",
    r"[^/\s:]*credentials\.json",
    r"\.[^/\s:]+/(?:credentials(?:\.[^/\s:]+)?|auth\.json)",  # .cargo, .gem, .codex, .composer
    r"secrets\.[^/\s:]+|(?:[^/\s:]*[-_.])?secret\.(?:ya?ml|json|toml)",
    r"service[-_]account[^/\s:]*\.json|[^/\s:]*firebase-adminsdk[^/\s:]*\.json",
    r"kubeconfig(?:\.(?:ya?ml|json|conf))?",
    r"gh/hosts\.yml|gcloud/(?:credentials|access_tokens)\.db|\.m2/settings\.xml",
    r"\.docker/config\.json|etc/g?shadow-?|proc/[^/\s:]+/environ",
)
_FOLDERS = (  # as a whole: `cd ~/.ssh && cat config`
    r"\.(?:aws|ssh|gnupg|kube|azure|password-store)",
    r"run/secrets",
)
# In small letters, what stands in each of these names: a plain look is a hundred times faster, and
# most calls name nothing like it.
_HINTS = (
    *(".env", "netrc", "npmrc", "pypirc", "pgpass", "htpasswd", "dockercfg", "my.cnf"),
    *("vault-token", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".pem", ".key", ".p12", ".pfx"),
    *(".kdbx", ".jks", ".ppk", "credentials", "secrets", "service-account", "service_account"),
    *(".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".password-store", "kubeconfig"),
    *(".s3cfg", ".boto", ".terraformrc", ".yarnrc", ".flaskenv", ".dev.vars", ".vault_pass"),
    *(
        "pgpass.conf",
        "rclone.conf",
        "wireguard/",
        "wp-config",
        ".ovpn",
        ".keytab",
        ".tfstate",
        ".tfvars",
    ),
    *("auth.json", "secret.", "firebase-adminsdk", "gh/hosts", "access_tokens.db", ".m2/"),
    *("etc/shadow", "etc/gshadow", "/environ"),
)
_NAME, _FOLDER = (rf"(?:{'|'.join(one)})" for one in (_NAMES, _FOLDERS))
_PATH = re.compile(rf"(?:.*/)?(?:{_NAME}|{_FOLDER}(?:/[^\s:]*)?)", re.IGNORECASE)
# The lines of a search say which file they are of: `config/.env:3:TOKEN=...`. So do the heads that
# git and the shell's programs put before a file. Of a folder no more than its name is matched: what
# looked on from there would read a hostile line as often as it holds one.
_FOUND_IN = re.compile(
    rf"^((?:[^\s:]*/)?(?:{_NAME}(?=:|-\d)|{_FOLDER}(?=[/:]|-\d)))", re.IGNORECASE | re.MULTILINE
)
_HEADED = re.compile(
    rf"^(?:diff --git |\+\+\+ |--- |==> )((?:[^\s:]*/)?(?:{_NAME}(?=\s)|{_FOLDER}(?=[/\s])))",
    re.IGNORECASE | re.MULTILINE,
)
# The plain look for what such a line begins with comes first, as the one for _HINTS does.
_HEADS = ("diff --git ", "+++ ", "--- ", "==> ")
_PATH_IN = re.compile(r"(?:(?!-\d)[^\s:])*")
_HARMLESS = (".example", ".sample", ".template", ".dist", ".pub")
_PRIVATE_KEY = re.compile(r"-----(?:BEGIN|END) (?:[A-Z0-9]+ ){0,3}PRIVATE KEY")
_WORD_ENDS = re.compile(r"[\s'\"`;&|<>(){}=,:$@]+")
_SEARCHES = re.compile(r"\b(?:[efr]?grep|rg|ag|ack|findstr|select-string)\b", re.IGNORECASE)
_NO_PATHS = frozenset({"content", "description", "new_string", "old_string", "pattern", "prompt"})


def is_credential_result(call: ToolCall, text: str) -> bool:
    """Return whether a call's result shows a credential file: by the paths it names, or the text.

    A file that is only the pattern of one (`.env.example`) or a public key is none.
    """
    if _names_one(call):
        return True
    if "PRIVATE KEY" in text and _PRIVATE_KEY.search(text):
        return True
    is_search = _is_search(call)
    is_headed = (is_search or call.tool in SHELL_TOOLS) and any(map(text.__contains__, _HEADS))
    if not ((is_search or is_headed) and _has_hint(text)):
        return False
    return (is_headed and _shows_one(text, _HEADED)) or (is_search and _shows_one(text, _FOUND_IN))


def _shows_one(text: str, pattern: re.Pattern[str]) -> bool:
    """Return whether lines of a text say that they are of a credential file."""
    for found in pattern.finditer(text):
        path = _PATH_IN.match(text, found.start(1))
        if not (_is_harmless(found[1]) or (path and _is_harmless(path[0]))):
            return True
    return False


def _names_one(call: ToolCall) -> bool:
    named = (*strings(call.input), working_directory(call) or "")
    return _has_hint("\n".join(named)) and any(map(_is_credential_path, _paths(call)))


def _has_hint(text: str) -> bool:
    return any(map(text.lower().__contains__, _HINTS))


def _paths(call: ToolCall) -> Iterator[str]:
    """Yield whatever a call's input may name as a path, and where that is relative to a folder."""
    cwd = working_directory(call)
    for value in strings({k: v for k, v in call.input.items() if k not in _NO_PATHS}):
        words = _WORD_ENDS.split(value) if call.tool in SHELL_TOOLS else [value]
        for word in words:
            path = word.strip().replace("\\", "/")
            yield path
            if cwd and path and not path.startswith("/"):
                yield f"{cwd}/{path}"


def _is_search(call: ToolCall) -> bool:
    if call.tool not in SHELL_TOOLS:
        return _SEARCHES.search(call.tool) is not None
    return any(_SEARCHES.search(text) for text in strings(call.input))


def _is_credential_path(path: str) -> bool:
    # Longer than any path: a regular expression has no business with it.
    is_path = len(path) <= PATH_MAX_CHARS and _PATH.fullmatch(path) is not None
    return is_path and not _is_harmless(path)


def _is_harmless(path: str) -> bool:
    return path.lower().endswith(_HARMLESS)
