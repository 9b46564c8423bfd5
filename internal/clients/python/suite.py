"""Runs the tests of Python modules and tells of each how it went.

Without arguments it lists the modules of openstacksdk's functional tests of bare
metal. Output is a line of JSON a module or a test.
"""

import json
import os
import pkgutil
import sys
import unittest

try:
    import openstack.tests.functional.baremetal as suite
    import oslotest
except ModuleNotFoundError as e:
    print(e, file=sys.stderr)
    sys.exit(os.EX_UNAVAILABLE)

answers = sys.stdout
sys.stdout = sys.stderr  # where the tests log


def tell(answer):
    print(json.dumps(answer), file=answers, flush=True)


class Teller(unittest.TestResult):
    def tell(self, test, passed, output=''):
        tell({'name': test.id().removeprefix(suite.__name__ + '.'), 'passed': passed, 'output': output})

    def addSuccess(self, test):
        self.tell(test, True)

    def addError(self, test, err):
        self.tell(test, False, self._exc_info_to_string(err, test))

    addFailure = addError

    def addSkip(self, test, reason):
        self.tell(test, False, 'skipped: ' + reason)


modules = sys.argv[1:]
for module in modules:
    unittest.defaultTestLoader.loadTestsFromName(suite.__name__ + '.' + module).run(Teller())
if not modules:
    for module in pkgutil.iter_modules(suite.__path__):
        if module.name.startswith('test_'):
            tell({'name': module.name})
