"""`/compact` in a terminal: what a person sees of it."""

from tests.real_client.harness import call, results, step, text
from tests.real_client.terminal import Terminal


def test_a_person_who_compacts_reads_the_receipt_and_goes_on(world):
    path = world.file("big.txt", "\n".join(f"line {n} of the file" for n in range(600)))
    read = call("Read", file_path=path)
    script = [step(read), step(text("READ-IT")), *[step(text(f"SAID-{n}.")) for n in range(5)]]
    with Terminal(world, script) as terminal:
        terminal.type("PROMPT")
        terminal.until("● READ-IT")
        for number in range(4):
            terminal.type(f"LATER-{number}")
            terminal.until(f"● SAID-{number}.")
        terminal.type("/compact")
        terminal.until("● lcc-sidecar: about")
        terminal.until("every word kept; 1 result one read away (on disk)")
        terminal.type("AFTER")
        terminal.until("● SAID-4.")
    assert world.requests("summary") == []
    assert path + " to recover" in results(world.request_of("AFTER"))[read["id"]]
