"""Prints the facts of one version of Ironic as JSON: states, transitions, verbs, sets and
the newest API version.

Standard input is a JSON object from paths of Ironic's source to their texts. The modules are
run as they are, except for what they import: ironic.common.fsm becomes a recorder, and any
module whose text is not given an object that accepts everything.
"""

import importlib.abc
import importlib.util
import json
import sys
from unittest import mock

texts = json.load(sys.stdin)


class Recorder:
    """Takes the place of ironic.common.fsm.FSM and keeps what it is told."""

    made = []

    def __init__(self, *args, **kwargs):
        self.states = {}
        self.transitions = []
        Recorder.made.append(self)

    def add_state(self, state, on_enter=None, on_exit=None, target=None,
                  terminal=None, stable=False):
        self.states[state] = {'stable': stable, 'target': target}

    def add_transition(self, start, end, event, replace=False):
        self.transitions.append((start, event, end))

    def __getattr__(self, name):
        return mock.MagicMock()


class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from the given texts, and nothing else."""

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        if path_of(spec.name) in texts or spec.name in ('ironic', 'ironic.common'):
            return None
        if spec.name == 'ironic.common.fsm':
            return mock.MagicMock(__path__=[], FSM=Recorder)
        return mock.MagicMock(__path__=[])

    def exec_module(self, module):
        if path_of(module.__name__) in texts:
            exec(compile(texts[path_of(module.__name__)], module.__name__, 'exec'), module.__dict__)


def path_of(name):
    return name.replace('.', '/') + '.py'


def words_of(value):
    """The sorted members of a collection of states, or None for another value."""
    if not isinstance(value, (tuple, list, set, frozenset)):
        return None
    if not all(word is None or isinstance(word, str) for word in value):
        return None
    return sorted(set(value), key=lambda word: (word is None, word or ''))


def newest_version():
    """The newest API version, of the module that the series keeps it in."""
    for path in ('ironic/api/controllers/v1/versions.py', 'ironic/api/controllers/v1/__init__.py'):
        for line in texts.get(path, '').splitlines():
            name, _, value = line.partition(' = ')
            if name == 'MAX_VER_STR' and value.strip("'\"").startswith('1.'):
                return value.strip("'\"")
    names = {}
    for line in (texts.get('ironic/api/controllers/v1/versions.py', '')
                 + texts.get('ironic/api/controllers/v1/__init__.py', '')).splitlines():
        name, _, value = line.partition(' = ')
        if name.startswith('MINOR_'):
            names[name] = names.get(value, value)
    return '1.%d' % int(names['MINOR_MAX_VERSION'])


sys.meta_path.append(Importer())
states = importlib.import_module('ironic.common.states')
if 'ironic/common/state_machine.py' in texts:
    importlib.import_module('ironic.common.state_machine')
machine, = Recorder.made
sets = {name: words_of(value) for name, value in vars(states).items()
        if name.isupper() and not name.startswith('_') and 'STATES' in name and words_of(value) is not None}
json.dump({
    'api_max': newest_version(),
    'sets': sets,
    'states': machine.states,
    'transitions': sorted(machine.transitions),
    'verbs': states.VERBS,
}, sys.stdout)
