"""The process that serves an embedded model; started by judge.local_model and ending with it.

It reads one line of JSON from its standard input, loads the model, writes one line with its address, and ends
when its input is closed: that happens when the run stops it, and also when the run itself is killed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

EXIT_NO_RUNTIME = 70
EXIT_NO_MODEL = 71


def main(orders: TextIO, reports: TextIO) -> int:
    """Serve until the input ends; returns the exit code."""
    order = json.loads(orders.readline())
    try:
        import xllamacpp
    except ImportError:
        return EXIT_NO_RUNTIME
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, order))
    except (RuntimeError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_NO_MODEL
    reports.write(json.dumps({"address": server.listening_address}) + "\n")
    reports.flush()
    orders.read()
    del server
    return 0


def _parameters(xllamacpp: Any, order: dict[str, Any]) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = order["path"]
    parameters.model_alias = {order["name"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [order["key"]]
    parameters.cors_origins = "http://127.0.0.1"
    parameters.n_parallel = order["parallel"]
    parameters.n_ctx = order["context"] * order["parallel"]
    parameters.cpuparams.n_threads = order["threads"]
    parameters.cpuparams_batch.n_threads = order["threads"]
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.verbosity = 1
    parameters.cache_ram_mib = 0  # old prompts would be kept by the gigabyte; the slots hold what is shared
    return parameters


if __name__ == "__main__":
    # llama.cpp may write to the process's standard output; the report must be the only thing there.
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    code = main(sys.stdin, report)
    sys.stdout.flush()
    os._exit(code)  # threads of the server must not keep the process
