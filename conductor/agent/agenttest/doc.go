// SPDX-License-Identifier: Apache-2.0

// Package agenttest provides machines that boot an agent of their own, for tests of conductors, as net/http/httptest
// provides servers. A [Machine] has one disk, which is a file. While its power is on and its boot device is the network
// or a virtual CD, it executes the protocol of ironic-python-agent with the API of Ironic:
//
//	machine, err := agenttest.New(agenttest.Config{API: ironic.URL, MACs: []string{port.Address}})
//	if err != nil {
//		return err
//	}
//	defer machine.Close()
//	machine.Power(true, "Pxe", "") // the agent boots, looks its node up and sends heartbeats
//
// The agent serves its own API over TLS, with a certificate that it makes at each boot. It erases the disk, and
// writes images that it downloads and verifies: raw ones and qcow2, of whole disks and of partitions. It makes the
// partitions of a partition image and the partition of a config drive. Tests look at the file:
//
//	image, err := os.ReadFile(machine.Disk)
//	partitions, err := machine.Partitions()
//	drive, err := machine.ConfigDrive()
//
// The functions Image and QCOW2 make images to be written.
//
// The method Power has the signature of bmctest.System.OnPower, so that a BMC of package bmctest switches the machine.
// Config.PowerOff is the way back: the agent's command power_off then also changes what the BMC reports.
//
// A machine whose Config.Boots calls [BootIPXE] boots from the scripts, kernels and ramdisks that a server provides for
// its network interfaces.
//
// A Fault makes the agent fail: it is silent, slow or busy, uses another token, reports another version, ends in a
// step, reports the success of a step that it has not executed, or sends huge answers.
//
//	machine.AddFault(agenttest.Fault{On: "write_image", Do: agenttest.Die()})
//
// The agent does not list steps that it cannot execute: it has no RAID and no burn-in. It makes no file systems in the
// partitions beside the image. The boot loader's installation only verifies that the disk has a partition table and
// that the given root partition is the image's.
//
// The package does not import package testing, so that programs can use it too.
//
// Source: ironic-python-agent 9.4.3, whose messages with a real Ironic are in the folder testdata.
package agenttest
