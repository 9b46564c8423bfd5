"""Gives sushy the folder of DMTF's message registries, empty, which Debian leaves out of its package.

Without the folder sushy reads no registry at all, not even a BMC's own.
"""

import os

listdir = os.listdir


def with_registries(path="."):
    try:
        return listdir(path)
    except FileNotFoundError:
        if str(path).endswith("sushy/standard_registries/"):
            return []
        raise


os.listdir = with_registries
