"""Interfaces for fake-hardware whose results the node's extra determines.

extra["outcome"] is "fail", "wait", or any other value for done. Waiting work
continues after POST vendor_passthru?method=call.
"""

from ironic.common import exception
from ironic.common import states
from ironic.conductor import utils
from ironic.drivers import base
from ironic.drivers.modules import fake


def outcome(task, done, wait=None):
    ordered = task.node.extra.get("outcome")
    if ordered == "fail":
        raise exception.IronicException("fails by order")
    if ordered == "wait" and wait is not None:
        return wait
    return done


# Ironic has service steps since 2023.2.
service_step = getattr(base, "service_step", lambda **_: lambda method: method)


class Power(fake.FakePower):
    def get_power_state(self, task):
        return outcome(task, states.POWER_ON)


class Deploy(fake.FakeDeploy):
    @base.deploy_step(priority=100)
    def deploy(self, task):
        return outcome(task, None, states.DEPLOYWAIT)

    @base.deploy_step(priority=50)
    def finish_deploy(self, task):
        return outcome(task, None)

    @base.clean_step(priority=100, abortable=True)
    def clean(self, task):
        return outcome(task, None, states.CLEANWAIT)

    @base.clean_step(priority=50, abortable=True)
    def finish_clean(self, task):
        return outcome(task, None)

    @service_step(priority=100, abortable=True)
    def service(self, task):
        return outcome(task, None, "service wait")

    @service_step(priority=50, abortable=True)
    def finish_service(self, task):
        return outcome(task, None)

    def tear_down(self, task):
        return outcome(task, states.DELETED)

    def take_over(self, task):
        outcome(task, None)


class Inspect(fake.FakeInspect):
    def inspect_hardware(self, task):
        return outcome(task, states.MANAGEABLE, states.INSPECTWAIT)

    def abort(self, task):
        pass


class Rescue(fake.FakeRescue):
    def rescue(self, task):
        return outcome(task, states.RESCUE, states.RESCUEWAIT)

    def unrescue(self, task):
        return outcome(task, states.ACTIVE)


class Vendor(fake.FakeVendorA):
    def validate(self, task, method, **kwargs):
        pass

    @base.passthru(["POST"], async_call=False)
    def call(self, task, **kwargs):
        """Continues the waiting work, as a call of a ramdisk or inspector does."""
        state = task.node.provision_state
        if state == states.DEPLOYWAIT:
            utils.notify_conductor_resume_deploy(task)
        elif state == states.CLEANWAIT:
            utils.notify_conductor_resume_clean(task)
        elif state == "service wait":
            utils.notify_conductor_resume_service(task)
        elif state == states.INSPECTWAIT:
            self.end(task, self.inspection_failed)
        elif state == states.RESCUEWAIT:
            task.process_event("resume")
            self.end(task, self.rescue_failed)

    def end(self, task, failed):
        try:
            outcome(task, None)
        except exception.IronicException as error:
            failed(task, str(error))
            task.process_event("fail")
        else:
            task.process_event("done")

    def inspection_failed(self, task, error):
        """Sets the last error alone, as ironic.drivers.modules.inspector does."""
        task.node.last_error = error

    def rescue_failed(self, task, error):
        """Adds to the history, as ironic.conductor.utils.rescuing_error_handler does."""
        utils.node_history_record(task.node, event=error, event_type=states.RESCUE, error=True)
