"""Processes of a cluster, as its launcher starts them."""

import os
import socket
import subprocess
import sys


def cluster(*command, size=2):
    """Start processes as Open MPI does, each with the same command of wisecrowd."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [
        subprocess.Popen(
            [sys.executable, "-m", "wisecrowd", *map(str, command), "--distributed"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "OMPI_MCA_orte_hnp_uri": f"1.0;tcp://127.0.0.1:{port}",
                "OMPI_COMM_WORLD_SIZE": str(size),
                "OMPI_COMM_WORLD_RANK": str(rank),
                "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
            },
        )
        for rank in range(size)
    ]
