"""The methods of `Database` for backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.store import Backup, restore

if TYPE_CHECKING:
    from viewlet.store.storage.open_storage import Address
    from viewlet.warehouse.warehouse import Warehouse


class BackupMethods:
    """`backup`, for `Database`."""

    _warehouse: Warehouse

    def backup(self, target: Address) -> Backup:
        """Copy the current epoch to a folder or URL: tables, views, their changes and history, every file checked.

        A place may hold any number of backups; files of earlier ones are not copied again. Epochs continue meanwhile.
        `viewlet.restore(target, path)` restores it.
        """
        return self._warehouse.store.back_up(target)


def restore_elsewhere(source: Address, path: Address, epoch: int | None = None) -> Backup:
    """Restore a backup to a new place: the last one, or that of an epoch."""
    return restore(source, path, epoch)
