"""`lcc mcp`: serve the tools of the Model Context Protocol to an agent."""

import click


@click.command()
def mcp() -> None:
    """Serve recall, compact_transcript and explain as MCP tools, on standard input and output."""
    from lcc_sidecar.mcp_server import run  # noqa: PLC0415 - help need not wait for the SDK

    run()
