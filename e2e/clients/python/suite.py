"""Runs modules of a client's tests.

The first argument names the package, the others its modules; the output is one line of
JSON for each test. Without modules the program lists them, one line of JSON each.
"""

import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import unittest

try:
    import oslotest
    suite = importlib.import_module(sys.argv[1])
    if importlib.util.find_spec(suite.__name__ + '.v1'):  # since openstacksdk 4.5
        suite = importlib.import_module(suite.__name__ + '.v1')
except ModuleNotFoundError as e:
    print(e, file=sys.stderr)
    sys.exit(os.EX_UNAVAILABLE)

answers = sys.stdout
sys.stdout = sys.stderr  # output of the tests must not mix with the answers


def write(answer):
    print(json.dumps(answer), file=answers, flush=True)


class Reporter(unittest.TestResult):
    def report(self, test, passed, output=''):
        write({'name': test.id().removeprefix(suite.__name__ + '.'), 'passed': passed, 'output': output})

    def addSuccess(self, test):
        self.report(test, True)

    def addError(self, test, err):
        self.report(test, False, self._exc_info_to_string(err, test))

    addFailure = addError

    def addSkip(self, test, reason):
        self.report(test, False, 'skipped: ' + reason)


modules = sys.argv[2:]
for module in modules:
    unittest.defaultTestLoader.loadTestsFromName(suite.__name__ + '.' + module).run(Reporter())
if not modules:
    for module in pkgutil.iter_modules(suite.__path__):
        if module.name.startswith('test_'):
            write({'name': module.name})
