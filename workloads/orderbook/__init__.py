"""Six queries over an order book, after the financial workload of Nikolic's thesis (appendix A.1.2), and a book."""

from pathlib import Path

FOLDER = Path(__file__).parent
TABLES = [text.strip() for text in (FOLDER / "schema.sql").read_text(encoding="utf-8").split(";") if text.strip()]
QUERIES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "queries").glob("*.sql"))}
