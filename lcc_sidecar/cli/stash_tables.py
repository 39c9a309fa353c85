"""How the stash looks in a terminal: sessions, entries, what went and what stayed."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.table import FigureTable, code, figure, line
from lcc_sidecar.settings import Settings
from lcc_sidecar.stash.gc import Collected
from lcc_sidecar.stash.overview import EntryRow, SessionRow, Total
from lcc_sidecar.stash.purge import Purge

_NAME_CHARS = 8  # of a session's id, unless two begin alike
_ID_DIGITS = 24  # as in a pointer
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_AGES = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))


def print_sessions(
    rows: Sequence[SessionRow], total: Total, settings: Settings, now: float
) -> None:
    console = _console()
    names = short_names([row.session_id for row in rows])
    heads = ("kept", "bytes", "packed", "pointers", "oldest", "newest")
    table = FigureTable(code("session"), *map(figure, heads), "live")
    for row, short in zip(rows, names, strict=True):
        table.add_row(
            Text(short, "bold"),
            f"{row.bodies:,}",
            size(row.original_bytes),
            size(row.packed_bytes),
            f"{row.pointers:,}",
            age(row.oldest, now),
            age(row.newest, now),
            Text("yes", "green") if row.is_live else Text("no", "dim"),
        )
    console.print(table)
    for told in _about(total, settings, now):
        console.print(told)
    if total.withheld:
        console.print(
            Text(
                f"{count(total.withheld, 'entry', 'entries')} withheld: they look like credentials,"
                " or are larger than 64 MB. With stash_credentials = true in settings.toml, or"
                " LCC_SIDECAR_STASH_CREDENTIALS=true, such files are kept from then on.",
                style="yellow",
            )
        )


def _about(total: Total, settings: Settings, now: float) -> list[Text]:
    share = total.used_bytes / settings.stash_max_bytes
    full = round(min(1.0, share) * 28)
    bar = ("█" * full, "blue" if share <= 1 else "red"), ("░" * (28 - full), "dim")
    cap = f"  {size(total.used_bytes)} of {size(settings.stash_max_bytes)} ({share:.0%})"
    kept = (
        f"{count(total.bodies, 'text')}: {size(total.original_bytes)}, packed to"
        f" {size(total.packed_bytes)}; the oldest is {age(total.oldest, now)} old"
    )
    rule = (
        f"kept for {count(settings.stash_days, 'day')}, and as long as a live session has a pointer"
    )
    return [Text.assemble(*bar, cap), Text(kept if total.bodies else "no texts"), Text(rule)]


def print_entries(session_id: str, rows: Sequence[EntryRow]) -> None:
    console = _console()
    console.print(Text.assemble(("session ", "bold cyan"), (plain(session_id), "bold")))
    table = FigureTable(figure("seq"), code("id"), line("what"), figure("bytes"), "state")
    for row in rows:
        what = f"{row.tool} {row.target or ''}" if row.tool else row.kind
        state = "pointer" if row.is_pointed else "" if row.state == "stashed" else row.state
        table.add_row(
            "" if row.seq is None else str(row.seq),
            Text(row.id[:_ID_DIGITS] if row.id else "", "cyan"),
            Text(plain(what.strip()), "red" if row.is_error else ""),
            "" if row.size is None else size(row.size),
            Text(state, "green" if row.is_pointed else "dim"),
        )
    console.print(table)
    console.print(Text("`lcc recall ID` gives one back.", style="dim"))


def print_collected(done: Collected, settings: Settings) -> None:
    console = _console()
    went = [
        (done.old, "text", f"older than {count(settings.stash_days, 'day')}"),
        (done.too_much, "text", "to make room, the oldest session first"),
        (done.sessions, "session", "of which nothing was kept any more"),
    ]
    for number, noun, why in went:
        if number:
            console.print(Text.assemble(("went    ", "green"), f"{count(number, noun)} {why}"))
    if not any(number for number, _, _ in went):
        console.print("Nothing had to go.")
    if done.pointed:
        stayed = f"{count(done.pointed, 'text')}, {size(done.pointed_bytes)} packed: pointers"
        console.print(Text.assemble(("stayed  ", "yellow"), stayed, " lead there"))
    if done.over_bytes:
        console.print(
            Text(
                f"! {size(done.over_bytes)} more than stash_max_bytes: all that is left has"
                " pointers that can still be followed. Raise stash_max_bytes in settings.toml, or"
                " remove sessions with `lcc stash purge`.",
                style="red",
            )
        )
    console.print(f"{size(done.bytes_before)} before, {size(done.bytes_after)} now")


def print_plan(plan: Purge) -> None:
    console = _console()
    console.print(
        f"{count(plan.bodies, 'text')} ({size(plan.packed_bytes)} packed)"
        f" of {count(len(plan.sessions), 'session')} will be gone for good."
    )
    if plan.pointers:
        lead = "leads" if plan.pointers == 1 else "lead"
        console.print(Text(f"{count(plan.pointers, 'pointer')} then {lead} nowhere.", "yellow"))
    if plan.shared:
        others = ", ".join(short_names(plan.sharing)[:4])
        more = f" and {len(plan.sharing) - 4} more" if len(plan.sharing) > 4 else ""  # noqa: PLR2004 - as many as named
        console.print(
            Text(f"{count(plan.shared, 'text')} kept: held also by {plain(others)}{more}.")
        )


def short_names(ids: Sequence[str]) -> list[str]:
    """Return the beginnings of ids, as long as it takes to tell them apart."""
    length = _NAME_CHARS
    while len({name[:length] for name in ids}) < len(set(ids)):
        length += 1
    return [plain(name[:length]) for name in ids]


def size(number: float) -> str:
    for unit, name in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number:.0f} B"


def age(when: float | None, now: float) -> str:
    if when is None:
        return ""
    for unit, name in _AGES:
        if now - when >= unit:
            return f"{int((now - when) / unit)} {name}"
    return "0 min"


def plain(text: str) -> str:
    """Return text out of a transcript as a terminal may show it: nothing in it acts."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _console() -> Console:
    return Console(highlight=False)
