"""What hatchling asks for when it builds greville: the description for the index of packages."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def without_relative_links(text: str) -> str:
    """Markdown whose pictures and links lead outside; of a relative link, its text stays.

    The index shows the README alone: a link to another file of the repository would be dead there.
    """
    outside = r"https?://|mailto:"
    text = re.sub(rf"^!\[[^\]]*\]\((?!{outside})[^)]*\)\n+", "", text, flags=re.MULTILINE)
    return re.sub(rf"(?<!!)\[([^\]]*)\]\((?!{outside})[^)]*\)", r"\1", text)


class Description(MetadataHookInterface):
    """The README, as it can be shown by itself."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": without_relative_links(text),
        }
