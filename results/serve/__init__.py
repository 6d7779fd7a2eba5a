"""The store browser: pages over a store's runs, for this host's own browser alone.

``listing`` knows the runs, ``query`` chooses among them, ``places`` opens files and lets nothing out of the
store, ``pages`` draws, ``server`` speaks HTTP.
"""

from results.serve.server import Browser, open_browser

__all__ = ["Browser", "open_browser"]
