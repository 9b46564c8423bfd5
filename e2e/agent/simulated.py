# SPDX-License-Identifier: Apache-2.0
"""A hardware manager of ironic-python-agent for a machine with one disk and one network interface, see ramdisk.py."""
import os
import time

from ironic_python_agent import hardware


def disk(all_serial_and_wwn=False, **kwargs):
    path = os.environ["DISK"]
    with open(path, "rb") as f:
        size = f.seek(0, os.SEEK_END)
    serial, wwn = (["E2E0001"], [None]) if all_serial_and_wwn else ("E2E0001", None)
    return hardware.BlockDevice(path, "Simulated", size, False, serial=serial, wwn=wwn, vendor="ironstate")


# The agent calls these without a hardware manager.
hardware.list_all_block_devices = lambda *args, **kwargs: [disk()]
hardware.md_get_raid_devices = lambda *args, **kwargs: {}
for name in ("_check_for_iscsi", "_load_ipmi_modules", "_load_multipath_modules", "_enable_multipath", "_md_scan_and_assemble"):
    if hasattr(hardware, name):
        setattr(hardware, name, lambda *args, **kwargs: None)


# Each step takes this many seconds: the agent forgets to report one that ends before it has read the answer to its last heartbeat.
PAUSE = 1


class Simulated(hardware.GenericHardwareManager):
    HARDWARE_MANAGER_NAME = "simulated"
    HARDWARE_MANAGER_VERSION = "1"

    def evaluate_hardware_support(self):
        return hardware.HardwareSupport.SERVICE_PROVIDER

    def list_network_interfaces(self):
        interface = hardware.NetworkInterface("eth0", os.environ["MAC"], ipv4_address="192.0.2.10", has_carrier=True)
        interface.speed_mbps = 10000
        return [interface]

    def list_block_devices(self, include_partitions=False, **kwargs):
        return [disk(**kwargs)]

    def list_block_devices_check_skip_list(self, node, include_partitions=False, **kwargs):
        return [disk(**kwargs)]

    def get_cpus(self):
        return hardware.CPU("Simulated", 2000, 4, "x86_64")

    def get_memory(self):
        return hardware.Memory(8 << 30, 8192)

    def get_system_vendor_info(self):
        firmware = [hardware.SystemFirmware("ironstate", "1", "2026-01-01")] if hasattr(hardware, "SystemFirmware") else []
        return hardware.SystemVendorInfo("machine", "E2E0001", "ironstate", *firmware)

    def get_boot_info(self):
        return hardware.BootInfo("bios", pxe_interface=os.environ["MAC"])

    def get_bmc_address(self):
        return "127.0.0.1"

    def get_bmc_v6address(self):
        return "::/0"

    def wait_for_disks(self):
        pass

    def collect_lldp_data(self, interface_names=None):
        return {}

    def erase_block_device(self, node, block_device):
        time.sleep(PAUSE)
        with open(block_device.name, "r+b") as f:
            f.write(bytes(1 << 20))  # the image's mark is in it; shredding all of the disk takes long

    def get_clean_steps(self, node, ports):
        return super().get_clean_steps(node, ports) + [
            {"step": "needs_reboot", "priority": 0, "interface": "deploy", "reboot_requested": True, "abortable": True}]

    def needs_reboot(self, node, ports):
        time.sleep(PAUSE)
        return "the machine reboots now"

    def get_deploy_steps(self, node, ports):
        return super().get_deploy_steps(node, ports) + [
            {"step": "write_mark", "priority": 0, "interface": "deploy", "reboot_requested": False, "argsinfo": {}}]

    def write_mark(self, node, ports, **kwargs):
        time.sleep(PAUSE)
        with open(os.environ["DISK"], "r+b") as f:
            f.write(b"written by a custom deploy step")
        return "written"
