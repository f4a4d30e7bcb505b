"""Common loops, ready to use: each function returns the text of one, for `db.create_view(name, text)`.

Tables and columns are given by name; a query may be any query over the tables and views of the warehouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.plan.words import identifier


def reachable(edges: str, sources: str, *, src: str = "src", dst: str = "dst") -> str:
    """The vertices `v` that are reachable from the vertices of a query, including these."""
    a, b, edges = map(identifier, (src, dst, edges))
    return f"""WITH RECURSIVE reached(v) AS (
  {sources} UNION
  SELECT e.{b} FROM reached JOIN {edges} e ON e.{a} = reached.v)
SELECT v FROM reached"""


def transitive_closure(edges: str, *, src: str = "src", dst: str = "dst") -> str:
    """All pairs `(src, dst)` of vertices that are connected by a path of at least one edge."""
    a, b, edges = map(identifier, (src, dst, edges))
    return f"""WITH RECURSIVE paths(src, dst) AS (
  SELECT {a}, {b} FROM {edges} UNION
  SELECT paths.src, e.{b} FROM paths JOIN {edges} e ON e.{a} = paths.dst)
SELECT src, dst FROM paths"""


def shortest_paths(edges: str, sources: str, *, src: str = "src", dst: str = "dst", weight: str = "w") -> str:
    """The least sum of weights, `cost`, of a path to each vertex `v` from the vertices of a query.

    Weights may be zero; on a cycle of negative ones the loop does not end.
    """
    a, b, w, edges = map(identifier, (src, dst, weight, edges))
    return f"""WITH RECURSIVE distances(v, cost) USING KEY (v) AS (
  SELECT *, 0 FROM ({sources}) UNION
  SELECT e.{b}, min(d.cost + e.{w}) FROM distances d JOIN {edges} e ON e.{a} = d.v GROUP BY e.{b})
SELECT v, cost FROM distances"""


def connected_components(edges: str, *, src: str = "src", dst: str = "dst") -> str:
    """For each vertex `v` the least vertex of its component, ignoring the directions of edges."""
    return f"""WITH RECURSIVE {_both_ways(edges, src, dst, "UNION ALL")},
components(v, component) USING KEY (v) AS (
  SELECT a, a FROM neighbours UNION
  SELECT n.b, min(c.component) FROM components c JOIN neighbours n ON n.a = c.v GROUP BY n.b)
SELECT v, component FROM components"""


def _both_ways(edges: str, src: str, dst: str, union: str = "UNION") -> str:
    a, b, edges = map(identifier, (src, dst, edges))
    return f"neighbours(a, b) AS (SELECT {a}, {b} FROM {edges} {union} SELECT {b}, {a} FROM {edges})"


def bill_of_materials(parts: str, *, assembly: str = "assembly", part: str = "part", quantity: str = "quantity") -> str:
    """How many of each `part`, at any depth, go into each `assembly`; a part that contains itself has no answer."""
    a, p, q, parts = map(identifier, (assembly, part, quantity, parts))
    return f"""WITH RECURSIVE contents(assembly, part, quantity) AS (
  SELECT {a}, {p}, {q} FROM {parts} UNION ALL
  SELECT c.assembly, p.{p}, c.quantity * p.{q} FROM contents c JOIN {parts} p ON p.{a} = c.part)
SELECT assembly, part, sum(quantity) AS quantity FROM contents GROUP BY assembly, part"""


def pagerank(
    edges: str,
    *,
    src: str = "src",
    dst: str = "dst",
    damping: float = 0.85,
    tolerance: float = 1e-9,
    teleport: str | None = None,
    hold: bool = True,
    diffusion: int | None = None,
) -> str:
    """The `rank` of each vertex `v`, to a tolerance; ranks add up to the number of vertices that have edges out.

    `teleport`: a query that returns vertices and the shares with which a walk restarts there (personalized PageRank);
    without it, each vertex has a share of one. `hold`: changes below the tolerance wait until they add up to more.
    `diffusion`: the number of rounds in each epoch; the rest of a change is not propagated, so
    ranks are approximate (MRQL's method, for comparison).
    """
    a, b, edges = map(identifier, (src, dst, edges))
    each = f"SELECT {a} AS v FROM {edges} UNION ALL SELECT {b} FROM {edges}"
    base = f"SELECT v, {1 - damping!r}D FROM ({each}) GROUP BY v"
    if teleport is not None:
        shares = f"SELECT v, CAST(share AS DOUBLE) AS share FROM ({teleport}) AS begins(v, share)"
        base = f"""SELECT v, sum(share) * {1 - damping!r}D FROM (
    {shares} UNION ALL SELECT {b}, 0.0D FROM {edges}) GROUP BY v"""
    held = f" HOLD CHANGES WHERE abs(new.rank - old.rank) < {tolerance!r}D" if hold else ""
    most = "" if diffusion is None else f" MAX {diffusion} DIFFUSE"
    return f"""INITIALIZE
  outward(v, n) AS (SELECT {a}, count(*) FROM {edges} GROUP BY {a}),
  base(v, rank) AS ({base}),
  ranks(v, rank) AS (SELECT v, rank / {1 - damping!r}D FROM base)
ITERATE SET ranks =
  SELECT base.v, base.rank + {damping!r}D * coalesce(given.rank, 0.0D) AS rank FROM base LEFT JOIN (
    SELECT e.{b} AS v, sum(r.rank / o.n) AS rank
    FROM ranks r JOIN outward o ON o.v = r.v JOIN {edges} e ON e.{a} = r.v GROUP BY e.{b}) given ON given.v = base.v
UNTIL max(abs(new.rank - old.rank)) < {tolerance!r}D ON ranks BY v{held}{most}
RETURN SELECT v, rank FROM ranks"""


def label_propagation(edges: str, labels: str, rounds: int, *, src: str = "src", dst: str = "dst") -> str:
    """The label of each vertex after some rounds, in each of which it takes the most frequent label of its neighbours.

    `labels` is a query that returns vertices and their first labels; of equally frequent labels, the least is taken.
    """
    a, b, edges = map(identifier, (src, dst, edges))
    near = f"SELECT {a} AS a, {b} AS b FROM {edges} UNION SELECT {b}, {a} FROM {edges}"
    return f"""REPEAT labels = SELECT * FROM ({labels}) AS first(v, label)
STEP SELECT v, label FROM (
    SELECT v, label, row_number() OVER (PARTITION BY v ORDER BY n DESC, label) AS place FROM (
      SELECT near.b AS v, l.label, count(*) AS n
      FROM labels l JOIN ({near}) near ON near.a = l.v GROUP BY near.b, l.label)) WHERE place = 1
LIMIT {rounds} RETURN SELECT v, label FROM labels"""


def adsorption(
    edges: str, labels: str, *, src: str = "src", dst: str = "dst", keep: float = 0.25, tolerance: float = 1e-9
) -> str:
    """The `score` of each `label` at each vertex `v`: its own share, and the mean of its neighbours' scores.

    `labels` is a query that returns vertices, labels and scores, of which a vertex keeps the share `keep`; the rest of
    its score comes from its neighbours, ignoring the directions of edges.
    """
    return f"""INITIALIZE {_both_ways(edges, src, dst)},
  near(v, n) AS (SELECT b, count(*) FROM neighbours GROUP BY b),
  own(v, label, score) AS (SELECT v, label, {keep!r}D * score FROM ({labels}) AS given(v, label, score)),
  scores(v, label, score) AS (SELECT v, label, sum(score) FROM own GROUP BY v, label)
ITERATE SET scores = SELECT v, label, sum(score) AS score FROM (
    SELECT v, label, score FROM own UNION ALL
    SELECT e.b, s.label, {1 - keep!r}D * s.score / near.n
    FROM scores s JOIN neighbours e ON e.a = s.v JOIN near ON near.v = e.b) GROUP BY v, label
UNTIL max(abs(coalesce(new.score, 0.0D) - coalesce(old.score, 0.0D))) < {tolerance!r}D ON scores BY (v, label)
RETURN SELECT v, label, score FROM scores"""


def k_core(edges: str, k: int, *, src: str = "src", dst: str = "dst") -> str:
    """The vertices `v` of the k-core, the largest subgraph where each has at least k neighbours, ignoring directions."""
    return f"""INITIALIZE {_both_ways(edges, src, dst)}, core(v) AS (SELECT DISTINCT a FROM neighbours)
ITERATE SET core =
  SELECT n.a AS v FROM neighbours n JOIN core c ON c.v = n.a JOIN core d ON d.v = n.b
  WHERE n.a <> n.b GROUP BY n.a HAVING count(*) >= {k}
UNTIL FIXPOINT RESTART RETURN SELECT v FROM core"""


def k_means(points: str, centers: str, columns: Sequence[str], *, key: str = "id", rounds: int = 100) -> str:
    """The centers of clusters of points, starting from those of a query: a column `center`, then the given columns.

    When points change, the loop resumes from its last centers; to start over, use `db.rebuild`.
    """
    xs, id_, points = [identifier(c) for c in columns], identifier(key), identifier(points)
    far = " + ".join(f"(p.{x} - c.{x}) * (p.{x} - c.{x})" for x in xs)
    return f"""INITIALIZE centers(center, {", ".join(xs)}) AS ({centers})
ITERATE SET centers =
  SELECT n.center, {", ".join(f"avg(p.{x}) AS {x}" for x in xs)} FROM {points} p JOIN (
    SELECT p.{id_} AS point, min_by(c.center, {far}) AS center FROM {points} p CROSS JOIN centers c GROUP BY p.{id_}) n
  ON n.point = p.{id_} GROUP BY n.center
UNTIL FIXPOINT MAX {rounds} RETURN SELECT * FROM centers"""


def factorize(entries: str, rank: int, *, row: str = "i", col: str = "j", value: str = "x", rounds: int = 50) -> str:
    """Non-negative factors W (i, k) and H (k, j) of a sparse matrix, by multiplicative updates: `factor, a, b, x`."""
    i, j, x, entries = map(identifier, (row, col, value, entries))
    seed = "0.5D + pmod(xxhash64({}, k), 1000) / 1000.0D"
    ks = f"(SELECT explode(sequence(1, {rank})) AS k)"
    return f"""INITIALIZE
  w(i, k, x) AS (SELECT i, k, {seed.format("i")} FROM (SELECT DISTINCT {i} AS i FROM {entries}) CROSS JOIN {ks}),
  h(k, j, x) AS (SELECT k, j, {seed.format("j")} FROM (SELECT DISTINCT {j} AS j FROM {entries}) CROSS JOIN {ks})
ITERATE
SET h = SELECT h.k, h.j, h.x * n.x / d.x AS x FROM h
  JOIN (SELECT w.k, v.{j} AS j, sum(w.x * v.{x}) AS x FROM {entries} v JOIN w ON w.i = v.{i} GROUP BY w.k, v.{j}) n
    ON n.k = h.k AND n.j = h.j
  JOIN (SELECT g.k, h.j, sum(g.x * h.x) AS x FROM h JOIN (
      SELECT a.k, b.k AS other, sum(a.x * b.x) AS x FROM w a JOIN w b ON a.i = b.i GROUP BY a.k, b.k) g ON g.other = h.k
    GROUP BY g.k, h.j) d ON d.k = h.k AND d.j = h.j;
SET w = SELECT w.i, w.k, w.x * n.x / d.x AS x FROM w
  JOIN (SELECT v.{i} AS i, h.k, sum(v.{x} * h.x) AS x FROM {entries} v JOIN h ON h.j = v.{j} GROUP BY v.{i}, h.k) n
    ON n.i = w.i AND n.k = w.k
  JOIN (SELECT w.i, g.k, sum(w.x * g.x) AS x FROM w JOIN (
      SELECT a.k, b.k AS other, sum(a.x * b.x) AS x FROM h a JOIN h b ON a.j = b.j GROUP BY a.k, b.k) g ON g.other = w.k
    GROUP BY w.i, g.k) d ON d.i = w.i AND d.k = w.k
UNTIL FIXPOINT MAX {rounds}
RETURN SELECT 'w' AS factor, i AS a, k AS b, x FROM w UNION ALL SELECT 'h', k, j, x FROM h"""
