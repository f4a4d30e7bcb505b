"""dbt on a Viewlet warehouse: dbt finds the plugin here."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.viewlet.connections import ViewletConnectionManager
from dbt.adapters.viewlet.credentials import ViewletCredentials
from dbt.adapters.viewlet.impl import ViewletAdapter
from dbt.include import viewlet as include

Plugin = AdapterPlugin(
    adapter=ViewletAdapter,  # type: ignore[arg-type]  # dbt's protocol is narrower than its own adapters
    credentials=ViewletCredentials,
    include_path=include.PACKAGE_PATH,
)

__all__ = ["Plugin", "ViewletAdapter", "ViewletConnectionManager", "ViewletCredentials"]
