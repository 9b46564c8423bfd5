"""Runs Ironic's command line client, baremetal, once for each line of input.

Each line of input is a JSON string with the arguments of a command. The client
is loaded once. Each command runs the client's main function in a forked
process, so that it starts with fresh state but without the half a second for
loading.
"""

import importlib
import json
import os
import pkgutil
import shlex
import sys
import tempfile

sys.argv = ['baremetal']  # the client reads its own name from argv while loading

import ironicclient.osc.v1
import ironicclient.shell
import ironicclient.v1


def load():
    """Imports all modules of the client, which otherwise the first command would. A parser of
    cliff reads the metadata of all installed packages, which takes most of a command's time."""
    for package in ironicclient.osc.v1, ironicclient.v1:
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(package.__name__ + '.' + module.name)
    ironicclient.osc.v1.baremetal_node.ListBaremetalNode(ironicclient.shell.App(), None).get_parser('')


def child(words, out, err):
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.argv[1:] = words
    status = 1
    try:
        sys.exit(ironicclient.shell.main(words))
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run(words):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            child(words, out, err)
        _, status = os.waitpid(pid, 0)
        text = []
        for file in out, err:
            file.seek(0)
            text.append(file.read().decode())
    return {'status': os.waitstatus_to_exitcode(status), 'stdout': text[0], 'stderr': text[1]}


load()
for line in sys.stdin:
    print(json.dumps(run(shlex.split(json.loads(line)))), flush=True)
