"""``sixd cache``: the compiled code on disk, and its removal."""

from __future__ import annotations

import click

import sixd
from sixd.cli.group import command
from sixd.cli.output import console, count, fact_table, heading, print_json, printable


@command(
    "cache",
    ("sixd cache", "The cache's folder, its size, and the functions used last."),
    ("sixd cache --clear", "Remove all compiled code; it is compiled again when needed."),
)
@click.option("--clear", is_flag=True, help="Remove all compiled code.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache(clear: bool, as_json: bool) -> None:
    """Show or remove the code that sixd has compiled. It is kept on disk, so that the next process starts faster.

    The environment variable SIXD_CACHE_DIR sets the folder (`off` turns the cache off), SIXD_CACHE_MB limits the size
    [MiB] (default 1024): the least recently used code is removed first. Removing the cache is always safe.
    """
    removed = sixd.clear_cache() if clear else None
    info = sixd.cache_info()
    facts = {"folder": info.folder, "enabled": info.enabled, "entries": info.entries, "bytes": info.bytes}
    if as_json:
        print_json(facts | ({} if removed is None else {"removed": removed}))
        return
    out = console()
    if not info.enabled:
        out.print("The cache is off (SIXD_CACHE_DIR): every process compiles again.")
        return
    if removed is not None:
        out.print(f"{count(removed, 'compiled function')} removed from {printable(info.folder)}")
        return
    size = f"{count(info.entries, 'compiled function')}, {info.bytes / 2**20:.1f} MiB"
    out.print(fact_table({"folder": str(info.folder), "size": size}))
    if info.recent:
        out.print()
        out.print(heading("used last"))
        for line in info.recent:
            out.print(f"  {line.strip()}")
