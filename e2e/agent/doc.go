// SPDX-License-Identifier: Apache-2.0

// Program agent takes a machine with a real ironic-python-agent through the program ironstate:
//
//	git clone -b unmaintained/2023.1 https://opendev.org/openstack/ironic-python-agent DIR
//	go run ./e2e/agent -agent DIR
//
// A BMC of package bmctest switches the machine, whose agent is a process that boot.sh starts and whose disk is a file.
// The machine is inspected, cleaned with a reboot between two steps, deployed with an image and a configuration drive,
// rescued, deleted, deployed by a custom step and deleted again. With -partition the image is one of a partition, in
// which the agent installs a boot loader. The program looks at the disk after each of these, and ends with status 1 at
// the first difference. README.md of this folder lists the requirements.
package main
