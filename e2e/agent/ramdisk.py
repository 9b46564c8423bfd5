# SPDX-License-Identifier: Apache-2.0
"""Starts ironic-python-agent as a ramdisk does, on a machine that is no ramdisk: ramdisk.py SOURCE [options of the agent].

SOURCE is a clone of the agent, or empty if its package is installed. The environment describes the machine: DISK is its only block device, MAC the address of
its only network interface, PARAMETERS its kernel command line, and FOLDER is for temporary files. boot.sh starts this
program where it can see and change nothing else.
"""
import configparser
import importlib.metadata
import os
import subprocess
import sys


def metadata(source, folder):
    """Writes the entry points of the agent, which an installation would have, with the hardware manager below."""
    setup = configparser.RawConfigParser(delimiters="=")
    if source:
        version = subprocess.run(["git", "-C", source, "describe", "--tags", "--abbrev=0"], capture_output=True, text=True).stdout.strip()
        setup.read(os.path.join(source, "setup.cfg"))
        groups = setup.items("entry_points")
    else:
        installed = importlib.metadata.distribution("ironic-python-agent")
        version = installed.version
        setup.read_string(installed.read_text("entry_points.txt"))
        groups = [(group, "\n".join("%s = %s" % entry for entry in setup.items(group))) for group in setup.sections()]
    where = os.path.join(folder, "ironic_python_agent-0.dist-info")
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\nName: ironic-python-agent\nVersion: %s\n" % (version or "0"))
    with open(os.path.join(where, "entry_points.txt"), "w") as f:
        for group, entries in groups:
            if group == "ironic_python_agent.hardware_managers":
                entries = "generic = ironic_python_agent.hardware:GenericHardwareManager\nsimulated = simulated:Simulated"
            f.write("[%s]\n%s\n\n" % (group, entries.strip()))


def main():
    source = sys.argv.pop(1)
    metadata(source, os.environ["FOLDER"])
    os.environ["AGENT_PID"] = str(os.getpid())  # for poweroff
    sys.path[:0] = [os.environ["FOLDER"]] + [source] * bool(source)
    from ironic_python_agent import utils
    words = [word.partition("=") for word in os.environ["PARAMETERS"].split()]
    utils.get_agent_params = lambda: {name: value for name, _, value in words}
    from ironic_python_agent import config  # noqa: F401, it defines options, with the parameters
    import simulated  # noqa: F401, it replaces functions of the agent that look for disks
    from ironic_python_agent.cmd import agent
    agent.run()


main()
