"""The store browser: a web server with the runs of a store, only for browsers on this host.

``listing`` reads the runs, ``query`` selects some, ``store_files`` opens files of the store and no others,
``pages`` renders HTML, ``server`` implements HTTP.
"""

from results.serve.server import Browser, open_browser

__all__ = ["Browser", "open_browser"]
