// Package hardware provides the hardware types "redfish" and "ipmi". They manage machines by
// their BMCs, through package bmc. Each is a [BMC]:
//
//	redfish, err := hardware.NewRedfish(hardware.Config{})
//	...
//	defer redfish.Close(context.Background())
//	c, err := conductor.New(conductor.Config{
//		Hardware: map[string]conductor.Hardware{"redfish": redfish},
//		Store:    store,
//	})
//
// The keys of driver_info are Ironic's; [BMC.Describe] lists them. [BMC.Validate] refuses a value
// that package bmc does not support, unless it equals the actual behaviour. Unlike Ironic's, both
// hardware types require a user and a password. Redfish requires HTTPS, and a wrong password
// costs one log-in attempt.
//
// Each request that changes a machine, and each log-in, needs the permission of the call's context
// ([conductor.Permit]), which is asked for when the connection is open and the request is ready to be
// sent. Over IPMI the request is a run of ipmitool.
//
// # Deployment
//
// This package neither writes images nor configures networks: another service must provide the
// ramdisk that machines boot from the network. There are two deploy interfaces.
//
//   - "ramdisk", the default: the step deploy.deploy powers the machine off, sets the network as
//     its persistent boot device, and powers it on. The node is then active. An image_source in
//     instance_info is refused, since this interface does not write it.
//   - "custom-agent": deploy.deploy boots the machine from the network once and waits until
//     the program calls [conductor.Conductor.Resume], when whatever runs in the ramdisk has
//     written the image. A heartbeat of Ironic's agent is stored and continues nothing, since
//     this package does not speak to the agent; without the call the deployment fails after
//     its timeout. The step deploy.boot_instance then boots the machine from its disk, also by
//     power off and power on.
//
// A tear-down powers the machine off. If disable_power_off is set, the steps reboot the machine
// instead of powering it off and on, and a tear-down reboots it.
//
// # Other work
//
// An inspection by Redfish stores the power state, and the memory and processors that the BMC
// reports in the properties memory_mb and cpus. An adoption reads the power state. There are no
// steps for automated cleaning, which therefore fails unless it is off, and no rescue.
package hardware
