// SPDX-License-Identifier: Apache-2.0

// Package machinetest provides an Ironic and a machine that it installs, in the process of a test: a [Lab] ties the
// Ironic of package conductortest, the hardware type redfish, a BMC of package bmctest and a machine of package
// agenttest together. A test of a controller takes a node from enroll to active, and reads the disk:
//
//	func TestInstall(t *testing.T) {
//		lab := machinetest.New(t, machinetest.Config{})
//		image := agenttest.Image(3<<20, 7)
//
//		install(lab.URL, lab.DriverInfo(), lab.InstanceInfo(image)) // the controller under test
//
//		lab.WaitFor(t.Context(), "rack1-7", states.Active)
//		require.Equal(t, image[512:], lab.Disk()[512:len(image)])
//	}
//
// The BMC has the machine's power and its virtual CD. When it boots the CD, its agent looks the node up, erases
// the disk, and downloads, verifies and writes images. Faults of the BMC and of the agent are set on the fields of the
// Lab:
//
//	lab.BMC.AddFault(bmctest.Fault{Do: bmctest.Status(503), Times: 2})
//	lab.Machine.AddFault(agenttest.Fault{On: "write_image", Do: agenttest.Die()})
//
// Nothing outside the process is needed: no network, no root, no image of an agent.
package machinetest
