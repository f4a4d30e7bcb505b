"""`make bench`: every benchmark, its table printed and kept in docs/."""

from pathlib import Path

from benchmarks.refresh import main

if __name__ == "__main__":
    main(["--out", str(Path("docs") / "refresh.md")])
