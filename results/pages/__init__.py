"""Pages under docs/ that are generated from the checkers and from recorded runs; `make docs` calls them."""
