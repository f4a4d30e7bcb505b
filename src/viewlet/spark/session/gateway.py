"""The JVM of a Spark that Viewlet starts itself, without the usual startup warnings.

Java, log4j and Hadoop print a dozen lines before any logging setting applies. They are held back while Spark starts:
dropped once it runs, printed if it fails, since they may say why. Later output passes through.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

STDERR = 2


@contextmanager
def quiet_start(settings: Mapping[str, str]) -> Iterator[None]:
    """Start a JVM unless there is one; its output during the block is held back."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield
        return
    relay = Relay()
    try:
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        gateway = launch_gateway(conf, {"stderr": relay.entrance})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)
        with warnings.catch_warnings():  # PySpark imports its own tests, which do not support every pandas
            warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
            yield
    except BaseException:
        relay.say()
        raise
    finally:
        relay.open()


class Relay:
    """A pipe to our own standard error that holds back its input until it is opened."""

    def __init__(self) -> None:
        exit_, self.entrance = os.pipe()
        self.held: list[bytes] = []
        self._is_open = threading.Event()
        threading.Thread(target=self._run, args=(exit_,), name="viewlet-jvm-stderr", daemon=True).start()

    def _run(self, exit_: int) -> None:
        while said := os.read(exit_, 1 << 16):
            if self._is_open.is_set():
                os.write(STDERR, said)
            else:
                self.held.append(said)

    def say(self) -> None:
        """Print what was held back."""
        os.write(STDERR, b"".join(self.held))

    def open(self) -> None:
        """Pass everything on from now; the JVM has a copy of the entrance, or has ended."""
        self._is_open.set()
        os.close(self.entrance)
