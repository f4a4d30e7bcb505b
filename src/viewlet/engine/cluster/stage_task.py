"""A stage as a Spark task: parcels of its partition in, the statements of the stage, parcels for the next stage out."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import pack, unpack
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.parcels import Parcel, Parcels
from viewlet.engine.cluster.shares import home_of, sent, share_of, together
from viewlet.engine.cluster.site import Site, Traffic
from viewlet.engine.cluster.stages import Stage
from viewlet.engine.cluster.written import Written
from viewlet.engine.terms.compile_term import CompiledTerm, compile_term
from viewlet.errors import EvaluationError
from viewlet.program.distributed import Arrival, Compute, Move, Partitioned, Statement, Update
from viewlet.spark.session.reused_worker import settle
from viewlet.store.storage.objects import Objects
from viewlet.store.storage.open_storage import storage_at

IN = " ⟨in "
"""Marks the failed statement in an error message, so that the driver can name the view."""


@dataclass(frozen=True)
class StageTask:
    """Maps the partitions of a stage."""

    address: str
    parts: int
    inline: int
    code: bytes
    """The stage, pickled: a worker unpickles and compiles it once for all epochs."""
    maps: Mapping[str, StoredMap]
    scattered: Sequence[Sequence[Parcel]]
    """What the driver sends to each partition."""
    is_first: bool
    """Whether its parcels come from the driver instead of an exchange."""
    initial: bool = False
    superseded: Mapping[str, StoredMap] = field(default_factory=dict)
    """Maps that are made anew: their old contents are subtracted from the new ones."""

    def __call__(self, part: int, arrived: Iterable[Parcels]) -> Iterator[Parcels]:
        settle()
        stage, terms = load(self.code)
        cached = cache_traffic(self.address)
        site = Site(self.address, part, self.parts, self.inline, self.maps, self.superseded, initial=self.initial)
        parcels = [parcel for _, parcels in arrived for parcel in parcels]
        receive(site, [*parcels, *(self.scattered[part] if self.scattered else ())])
        for statement in stage.statements:
            _run(site, statement, terms, stage)
        out = self._parcels(site, stage)
        exchanged = Traffic(0 if self.is_first else sum(parcel.bytes for parcel in parcels))
        out[part].append(Parcel("traffic", "", traffic_of(parcels) + exchanged + site.traffic + cached()))
        yield from out.items()

    def _parcels(self, site: Site, stage: Stage) -> dict[int, list[Parcel]]:
        """The parcels for each partition."""
        own = [Parcel("rows", name, pack(site.deltas[name])) for name in stage.kept if name in site.deltas]
        out = {site.part: own + [Parcel("run", w.bag, w) for w in site.written.values()]}
        for move in stage.moves:
            rows, sums = site.change(move.source), stage.summed.get(move.name)
            for to, parcel in parcels_of(move, rows, self.parts, sums, can_split=move.name in stage.split):
                out.setdefault(to, []).append(parcel)
        return out


def cache_traffic(address: str) -> Callable[[], Traffic]:
    """A function that returns the cache hits and fetched bytes since this call."""
    storage = storage_at(address)
    if not isinstance(storage, Objects):
        return Traffic
    hits, read = storage.traffic.hits, storage.traffic.bytes_read
    return lambda: Traffic(cache_hits=storage.traffic.hits - hits, fetched_bytes=storage.traffic.bytes_read - read)


def traffic_of(parcels: Iterable[Parcel]) -> Traffic:
    """The total traffic of earlier stages."""
    return sum((parcel.data for parcel in parcels if parcel.kind == "traffic"), Traffic())


def parcels_of(
    move: Move, rows: Rows | None, parts: int, sums: tuple[str, ...] | None = None, *, can_split: bool = False
) -> Iterator[tuple[int, Parcel]]:
    """What a move sends to each partition."""
    rows = together([rows], move.columns)
    if rows is None:
        return
    if isinstance(move.tag, Partitioned):
        shares = sent(rows, move.tag, parts, sums, can_split=can_split)
        yield from ((to, Parcel("rows", move.name, pack(share))) for to, share in shares)
    else:
        everywhere = Parcel("rows", move.name, pack(rows))
        yield from ((to, everywhere) for to in range(parts))


@dataclass(frozen=True)
class GatherTask:
    """Maps the partitions after the last stage of a job to the parcels for the driver."""

    gathered: frozenset[str]
    once: frozenset[str]
    """Results that are equal on all partitions, so that one partition's suffice."""

    def __call__(self, part: int, arrived: Iterable[Parcels]) -> Iterator[Parcel]:
        yield from (parcel for _, parcels in arrived for parcel in parcels if self._is_wanted(parcel, part))

    def _is_wanted(self, parcel: Parcel, part: int) -> bool:
        match parcel.kind:
            case "rows":
                return parcel.name in self.gathered and (part == 0 or parcel.name not in self.once)
            case "run":
                made: Written = parcel.data
                return made.counts
            case _:
                return True


@lru_cache(64)
def load(code: bytes) -> tuple[Stage, dict[str, CompiledTerm]]:
    """A stage with its terms compiled."""
    stage: Stage = pickle.loads(code)
    return stage, {s.name: compile_term(s.term) for s in stage.statements if isinstance(s, Compute)}


def receive(site: Site, parcels: Iterable[Parcel]) -> None:
    """Put the parcels' contents where the statements find them."""
    rows: dict[str, list[Rows]] = {}
    meeting: dict[str, list[Rows]] = {}
    for parcel in parcels:
        match parcel.kind:
            case "rows":
                rows.setdefault(parcel.name, []).append(unpack(parcel.data))
            case "net":
                meeting.setdefault(parcel.name, []).append(unpack(parcel.data))
            case "bag":
                rows.setdefault(parcel.name, []).append(_read(parcel.data, site))
            case "table":
                raise AssertionError(f"{parcel.name} is not net")
            case "run":
                site.take_over(parcel.data)
            case "traffic":
                pass  # it is passed on
    for name, pieces in meeting.items():
        rows.setdefault(name, []).append(Rows.concat(pieces).consolidate())
    for name, pieces in rows.items():
        site.put(name, Rows.concat(pieces))


def _read(stored: StoredMap, site: Site) -> Rows:
    """This partition's share of a bag: some runs, or the rows that belong here."""
    whole = stored.open(site.address)
    if isinstance(stored.tag, Partitioned):
        return stored.share(whole, site.part, site.parts).consolidated()
    return whole.scan()


def _run(site: Site, statement: Statement, terms: Mapping[str, CompiledTerm], stage: Stage) -> None:
    if isinstance(statement.tag, Partitioned) and not statement.tag.columns and site.part != home_of(site.parts):
        return
    match statement:
        case Arrival():
            pass  # its rows came as parcels
        case Compute(name, given=given):
            try:
                site.put(name, terms[name](site.reader(given, is_cut=name in stage.cut)))
            except EvaluationError as error:
                raise EvaluationError(f"{error}{IN}{name}⟩") from error
        case Move(name, source, _, tag, columns):
            assert isinstance(tag, Partitioned), f"{name} is retained, and has no partition"
            if (rows := together([site.change(source)], columns)) is not None:
                site.put(name, share_of(rows, tag.columns, site.part, site.parts))
        case Update():
            site.update(statement)
