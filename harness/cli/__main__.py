"""``python -m harness.cli``: the same commands for callers that start a file, such as spark-submit."""

from harness.cli import main

if __name__ == "__main__":
    main()
