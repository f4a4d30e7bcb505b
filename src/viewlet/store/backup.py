"""Backups: the state after an epoch with all files that it names, in a folder or an object store.

    backups/‹epoch›.backup = the header of a segment | one frame: the whole state, and the inline runs of the log
    data/…                 = files as the warehouse has them, each stored once for all backups

Files never change, so a further backup copies only new ones. A backup exists once its frame is complete.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from viewlet.errors import CorruptFile, StoreError
from viewlet.formatting import plural, size
from viewlet.store.files import DATA
from viewlet.store.limits import Limits
from viewlet.store.log.folder.rolling import carry, inline_runs
from viewlet.store.log.frames import SEGMENT_HEAD, Frame, encode_frame, head_damage, read_frame, segment_head
from viewlet.store.log.open_log import log_of
from viewlet.store.log.record_json import decode_state, encode_state
from viewlet.store.log.state import State, relocate
from viewlet.store.runs.runs import Handles, RunRef
from viewlet.store.storage.open_storage import Address, open_storage
from viewlet.store.storage.storage import Storage

_BACKUPS = "backups"
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the state after an epoch: its files, their total size, and how many files had to be copied."""

    epoch: int
    address: str
    files: int
    bytes: int
    copied: int

    def __str__(self) -> str:
        files = f"{plural(self.files, 'file')}, {self.copied:,} of them copied, {size(self.bytes)}"
        return f"epoch {self.epoch} is in {self.address}: {files}"


def back_up(state: State, handles: Handles, target: Address) -> Backup:
    """Copy a state and the files that it names to the place of its backups."""
    storage = open_storage(target)
    if strangers := sorted(storage.names() - {_BACKUPS, DATA}):
        raise StoreError(
            f"{storage.address} holds no backups, but other things: {', '.join(strangers[:3])}",
            hint="name a new or an empty place, or one with earlier backups",
        )
    storage.prepare(_BACKUPS, DATA)
    held = [handles.get(ref, bag.layout, bag.types) for bag in state.bags.values() for ref in bag.refs()]
    made = _copy_files(handles.storage, storage, state)
    del held  # while these handles were held, no file could be removed
    _write(storage, state, handles.storage)
    return made


def _write(storage: Storage, state: State, source: Storage) -> None:
    """Write the state as a backup; a complete one of the same epoch is kept."""
    name = _name(state.epoch)
    if name in storage.list(_BACKUPS):
        if _is_whole(storage, name):
            return
        storage.remove([name])
    moves, blobs = carry(source, [refs for runs in inline_runs(state).values() for refs in runs.values()])
    data, _ = encode_frame(encode_state(relocate(state, moves, Handles(source))), blobs)
    storage.write(name, [segment_head(), data])
    storage.sync([name])


def backups(address: Address) -> list[int]:
    """The epochs of the backups in a place, ascending."""
    names = [name.removeprefix(f"{_BACKUPS}/").removesuffix(".backup") for name in open_storage(address).list(_BACKUPS)]
    return sorted(int(name) for name in names if name.isdigit())


def restore(source: Address, target: Address, epoch: int | None = None) -> Backup:
    """Create a warehouse in an empty place from the backup of an epoch, or from the latest."""
    there = backups(source)
    if not there or (epoch is not None and epoch not in there):
        some = ", ".join(map(str, there[-5:])) or "none"
        wanted = "backup" if epoch is None else f"backup of epoch {epoch}"
        raise StoreError(f"there is no {wanted} in {source}", hint=f"the last ones there: {some}")
    storage, name = open_storage(source), _name(there[-1] if epoch is None else epoch)
    data, frame = _read(storage, name)
    state = decode_state(frame.header, name, frame.blob, Handles(storage))
    return _restore(storage, state, frame.header, data[frame.blob : frame.blob_end], open_storage(target))


def _restore(source: Storage, state: State, header: dict[str, object], blob: bytes, target: Storage) -> Backup:
    log = log_of(target, Limits())
    log.check_free()
    if log.exists():
        raise StoreError(f"there is a warehouse at {target.address} already", hint="name a new or an empty place")
    lock = log.lock()
    try:
        target.prepare(DATA)
        made = _copy_files(source, target, state)
        log.begin({"state": header["state"]}, [blob])
    finally:
        lock.release()
    return made


def _copy_files(source: Storage, target: Storage, state: State) -> Backup:
    """Copy the missing files of a state; each is read in full and its checksum verified."""
    refs = {ref.file: ref for ref in state.refs() if ref.file.startswith(f"{DATA}/")}
    there = target.list(DATA)
    missing = [ref for ref in refs.values() if ref.file not in there or there[ref.file].size != ref.size]
    target.remove(ref.file for ref in missing if ref.file in there)
    with ThreadPoolExecutor(_AT_ONCE, "viewlet-backup") as pool:
        list(pool.map(partial(_copy, source, target), missing))
    target.sync(ref.file for ref in missing)
    return Backup(state.epoch, target.address, len(refs), sum(ref.size for ref in refs.values()), len(missing))


def _copy(source: Storage, target: Storage, ref: RunRef) -> None:
    source.forget(ref.file)
    target.write(ref.file, [source.read(ref.file, ref.offset, ref.size, ref.crc)])


def _is_whole(storage: Storage, name: str) -> bool:
    try:
        _read(storage, name)
    except CorruptFile:
        return False
    return True


def _read(storage: Storage, name: str) -> tuple[bytes, Frame]:
    """A backup's bytes, read anew, and the frame in them."""
    storage.forget(name)
    data = storage.path(name).read_bytes()
    wrong = head_damage(memoryview(data), name)
    frame = None if wrong else read_frame(memoryview(data), SEGMENT_HEAD)
    if frame is None:
        raise CorruptFile(f"{storage.full_name(name)} is no whole backup", hint="restore an earlier one")
    return data, frame


def _name(epoch: int) -> str:
    return f"{_BACKUPS}/{epoch:020}.backup"
