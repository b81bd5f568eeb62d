"""Check a built site: ``python -m tests.site build/site``, at the end of ``make docs``."""

import sys
import time
from pathlib import Path

from . import browser, static


def main(folder):
    began = time.monotonic()
    site = static.Site(folder)
    troubles = [*site.troubles(), *static.missing_names(site)]
    if browser.CHROMIUM is None:
        print("There is no Chromium on this machine: pages were not looked at in a browser.")
    else:
        troubles += browser.troubles(folder)
    for trouble in troubles:
        print(trouble)
    seconds = time.monotonic() - began
    print(
        f"{len(site.pages)} pages, {site.n_links} links, {len(troubles)} troubles, {seconds:.0f} s"
    )
    return bool(troubles)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
