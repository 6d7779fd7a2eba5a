"""``python -m harness.cli``: the same commands for those who start a file, as spark-submit does."""

from harness.cli import main

if __name__ == "__main__":
    main()
