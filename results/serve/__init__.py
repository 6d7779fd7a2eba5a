"""The store browser: pages about a store's runs, only for browsers on this host.

``listing`` knows the runs, ``query`` chooses among them, ``places`` opens files of the store and no others,
``pages`` draws, ``server`` speaks HTTP.
"""

from results.serve.server import Browser, open_browser

__all__ = ["Browser", "open_browser"]
