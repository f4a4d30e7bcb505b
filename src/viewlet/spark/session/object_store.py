"""The object-store credentials of a Spark session, with which a warehouse in such a store is opened.

They are used for connections of this process only; tasks use those of their executors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_S3 = {
    "access.key": "aws_access_key_id",
    "secret.key": "aws_secret_access_key",
    "session.token": "aws_session_token",
    "endpoint": "endpoint_url",
    "endpoint.region": "region_name",
}
"""Settings of Hadoop's S3A, and their names in boto3."""


def s3_settings(session: SparkSession) -> dict[str, str]:
    """The S3 settings that the session has."""
    said = {name: session.conf.get(f"spark.hadoop.fs.s3a.{name}", None) for name in _S3}
    endpoint = said["endpoint"]
    if endpoint is not None and "://" not in endpoint:
        said["endpoint"] = f"https://{endpoint}"
    return {_S3[name]: value for name, value in said.items() if value}
