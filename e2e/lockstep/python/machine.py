"""Processes events with Ironic's own state machine and task manager.

Each line of input is a list of questions, each
[state, stored target, last error, event, named target, error text, work]. The
answer is a list with [state, target, last error, notification status] for each
question, or null if Ironic refuses the event.
"""

import json
import logging
import sys
from types import SimpleNamespace

from ironic.common import exception
from ironic.common import states
from ironic.conductor import notification_utils
from ironic.conductor import task_manager

try:
    from ironic.common import state_machine  # since 2026.1
except ImportError:
    state_machine = states

logging.disable(logging.CRITICAL)
sent = []
notification_utils.emit_provision_set_notification = (
    lambda task, level, status, *rest: sent.append(status))


def work():
    pass


def answer(state, stored, error, event, target, text, works):
    node = SimpleNamespace(
        uuid="node", provision_state=state, target_provision_state=stored,
        last_error=error, save=lambda: None)
    task = task_manager.TaskManager.__new__(task_manager.TaskManager)
    task.fsm, task.spawn_after = state_machine.machine.copy(), lambda *a, **k: None
    try:
        task.node = node
        task.process_event(event, callback=work if works else None,
                           target_state=target, last_error=text)
    except exception.InvalidState:
        return None
    if works:
        task._notify_provision_state_change()
    return [node.provision_state, node.target_provision_state,
            node.last_error, sent.pop()]


for line in sys.stdin:
    print(json.dumps([answer(*question) for question in json.loads(line)]), flush=True)
