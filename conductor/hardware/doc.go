// Package hardware has the hardware types "redfish" and "ipmi": machines that a
// conductor manages by their BMCs, through package bmc. Each is a [BMC]:
//
//	redfish, err := hardware.NewRedfish(hardware.Config{})
//	...
//	defer redfish.Close(context.Background())
//	c, err := conductor.New(conductor.Config{
//		Hardware: map[string]conductor.Hardware{"redfish": redfish},
//		Store:    store,
//	})
//
// The keys of driver_info are Ironic's; [BMC.Describe] lists them. A key of Ironic's
// that package bmc cannot follow is refused by [BMC.Validate] where it asks for
// something else than happens anyway. Unlike Ironic's, both types need a user and a
// password. Redfish is spoken over HTTPS alone, and its log-in costs one attempt.
//
// # Deployment
//
// No image is written here, and no network is configured: somebody else serves what
// machines boot from the network. There are two deploy interfaces.
//
//   - "ramdisk", the default: the step deploy.deploy powers the machine off, has it boot
//     from the network from now on, and powers it on. That is all, and the node is
//     active. An image_source in instance_info is refused, since nobody would write it.
//   - "custom-agent": deploy.deploy has the machine boot from the network once, and
//     waits for a heartbeat of what it has booted, which writes the image first. The step
//     deploy.boot_instance then has the machine boot from its disk, by the same way off
//     and on.
//
// A tear-down powers the machine off. Where disable_power_off is set, a reboot takes the
// place of off and on, and of the power off of a tear-down.
//
// # Other work
//
// An inspection by Redfish stores the power state and, in the properties memory_mb and
// cpus, what the BMC tells. An adoption reads the power state. There are no steps of
// automated cleaning, and no rescue.
package hardware
