// SPDX-License-Identifier: Apache-2.0

// Package hardware composes hardware types of interfaces, as Ironic does: a [Type] is a list of interfaces by kind. The
// hardware types "redfish" and "ipmi" manage machines by their BMCs, through package bmc:
//
//	redfish, err := hardware.NewRedfish(hardware.Config{})
//	...
//	defer redfish.Close(context.Background())
//	c, err := conductor.New(conductor.Config{
//		Hardware: map[string]conductor.Hardware{"redfish": redfish},
//		Store:    store,
//	})
//
// The hardware type "bmclib" (NewBMCLib) manages machines by a provider of github.com/bmc-toolbox/bmclib, such as
// intel-amt, dell, supermicro, asrockrack, openbmc or rpc. The safety of the provider is the caller's. By dell and
// openbmc the step firmware.update of manual cleaning and servicing installs firmware, which is downloaded to the
// folder of Config.Images. The other providers have no such step: asrockrack's must be told the version that is
// installed, and supermicro's may report an install as complete that still runs.
//
// A hardware type of one's own needs a power and a management interface. With the other kinds of [New] its machines
// boot by "ipxe" or "pxe", are deployed by "direct", and are inspected by the agent. The agent also rescues a machine
// whose node has chosen the rescue interface "agent"; by default it is "no-rescue", as in Ironic:
//
//	strip, err := hardware.New(hardware.Config{}, hardware.Interfaces{
//		Power:      []hardware.Power{power{}},
//		Management: []hardware.Management{hardware.NoManagement()},
//	})
//
// Such a type may also have interfaces of the types redfish, ipmi and bmclib, which [Redfish], [IPMI] and [BMCLib]
// return. Package conductor/hardwaretest checks it, and examples/powerstrip is one in full.
//
// The keys of driver_info are Ironic's. [Type.Describe] describes them, and a table is at the end of this comment.
// [Type.Validate] refuses a value that package bmc does not support, unless it equals the actual behaviour. Unlike
// Ironic's, both hardware types require a user and a password. Redfish requires HTTPS, and a wrong password costs one
// log-in attempt.
//
// Each request that changes a machine, and each log-in, needs the permission of the call's context
// ([conductor.Permit]), which is asked for when the connection is open and the request is ready to be
// sent. Over IPMI the request is a run of ipmitool.
//
// # What each operation changes on the machine
//
// This section and the next ones describe the hardware types redfish and ipmi.
//
// A request that would change nothing is refused, or its work fails, except with the interfaces
// named noop.
//
//   - A verification and an adoption read the power state. An inspection by Redfish reads the
//     inventory ([bmc.Driver.Inspect]), which since 2023.2 clients read as the node's inventory. It sets the
//     properties memory_mb, cpus (before 2025.2), cpu_arch and local_gb and the capability boot_mode, with
//     the types of the series, and creates ports ([conductor.Task.StoreInspection]). It fails if the BMC reports
//     neither memory nor processors. If another part cannot be read, the plugin data says why, as
//     "incomplete". None of them changes the machine.
//   - An inspection with the inspect interface "agent" boots the ramdisk and waits until its agent sends
//     its data to the API ([conductor.Conductor.ContinueInspection]). The machine is then powered off, also if the
//     inspection fails or is aborted.
//   - A power request sets the power state and waits until the machine has it.
//   - A boot device is set by the BMC's boot override, and with it the boot mode in the
//     capabilities of the instance or the node; over Redfish only if the BMC reports another
//     mode. With the management interface "noop" nothing is set or read, as in Ironic: the
//     machine's own boot order must be the network first, then the disk.
//   - A deployment is described below.
//   - A tear-down powers the machine off. With redfish-virtual-media it ejects CDs. The machine's disks
//     and its boot device stay as they are.
//   - With the deploy interfaces "direct" and "custom-agent", a cleaning and a service boot Ironic's agent, which
//     executes its own steps, such as deploy.erase_devices, and power the machine off at the end, or start the instance
//     again. The same holds for "ramdisk" if the agent boots from virtual media or by a served script; otherwise an
//     automated cleaning has no steps and fails, unless it is off for the node or the conductor. Manual cleaning and
//     servicing have the built-in steps of power, since 2023.2; a step that neither the driver nor the agent has fails.
//   - By Redfish, clients insert and eject virtual media, inject an NMI, and set the boot mode and
//     secure boot ([conductor.Management]); by IPMI they inject an NMI. The BMC itself loads the image
//     of virtual media: image_download_source is "http", and any other is refused. A client's change of
//     the CD fails while the machine boots or runs from it.
//   - The steps bios.apply_configuration and bios.factory_reset of manual cleaning, servicing and
//     deployments, by Redfish, change the BIOS settings and reboot the machine. The first is done when the machine
//     reports the settings, for which it waits up to 30 minutes; the second does not check its result. Since 2026.1
//     both wait, if no agent boots, until the machine boots its system, where the BMC reports that (BootProgress).
//   - The vendor (the property vendor, unless the node has it) and, by Redfish, the boot mode, secure boot, the BIOS
//     settings with their registry, and from series 2023.2 on the versions of the firmware, are read when
//     [conductor.CacheReader] says, and the settings also in those steps. Clients read them
//     from the node's record; a failure to read them from the BMC is only logged.
//   - By Redfish, the power sync also reads the boot mode and secure boot, and the health of the machine in series
//     whose API has it (1.109).
//   - The vendor interface "redfish" subscribes to the events of the BMC, which the BMC sends to a URL of the client's.
//   - With the rescue interface "agent", a rescue boots the agent and gives it the hash of the password, and
//     the end of a rescue boots the instance again.
//   - Consoles are refused, and so are firmware updates, except by "bmclib" as above, and steps for RAID, except the
//     agent's with the RAID interface "agent"; a RAID configuration is stored.
//   - The network interface "noop" changes nothing: networks are another service's.
//
// # Boot
//
// The boot interfaces "ipxe", the default, and "pxe" set the network as the boot device. DHCP, TFTP and iPXE itself are
// another service's. With "pxe", and without Config.Images also with "ipxe", so are the files that the machine boots.
// With Config.Images the boot interface "ipxe" serves, if the node or the configuration names a kernel and a ramdisk,
// both and an iPXE script for each of the node's ports: the machine must load boot.ipxe below the URL of the images.
// The kernel parameters are kernel_append_params, the address of the API and BOOTIF. The agent's token is given to it
// at its lookup. The script and the files are removed when the boot ends, before the machine boots from its disk.
//
// The boot interface "redfish-virtual-media" ejects the CDs in the BMC's slots, inserts an image, waits
// until the BMC reports it as inserted, and sets the CD as the boot device. It needs no DHCP and no TFTP. An image
// that a BMC refuses to eject fails no work by itself, as in Ironic.
// For an agent the image is one of these:
//
//   - deploy_iso in driver_info, which the BMC loads. The agent receives no configuration here, so
//     that the image must have it, as metal3's image does. Its token is given to it at its lookup.
//   - An image that package bootimage builds from deploy_kernel, deploy_ramdisk and, for UEFI, bootloader.
//     For BIOS the folder of Config.Images must have isolinux.bin and ldlinux.c32. The kernel parameters
//     are kernel_append_params and, for the agent, the address of the API and a token; network_data is in
//     openstack/latest/network_data.json. Package images serves the image until the
//     boot ends: the process that builds it must be reachable for the BMC, and if that process
//     dies before, the image is absent.
//
// A rescue boots rescue_iso, or rescue_kernel and rescue_ramdisk, in the same way. Without these it boots the agent's
// ramdisk of a deployment.
//
// # Deployment
//
// There are three deploy interfaces. An instance is refused if its instance_info has a key that the deploy
// interface does not support.
//
//   - "ramdisk": the step deploy.deploy powers the machine off, sets its persistent boot device, and powers it on. The
//     node is then active. With redfish-virtual-media the machine boots boot_iso in instance_info, or an image that is
//     built from its kernel and ramdisk with ramdisk_kernel_arguments. With ipxe and Config.Images it boots the same by
//     a script. If instance_info names nothing, it boots from the network, and another service chooses the boot file.
//     With pxe, or without Config.Images, an ISO, a kernel or a ramdisk in instance_info is refused. An image or a
//     configuration drive is refused with all of them.
//   - "direct", the default: deploy.deploy boots Ironic's agent. After its first heartbeat the agent writes the image
//     (write_image) and the configuration drive, which is an image, its URL, or built from an object. The agent
//     downloads the image from image_source, an http or https URL with a checksum, which is checked before the boot. A
//     local image (image_download_source "local", or a file URL) is downloaded and verified before the boot, and
//     Config.Images serves it to the agent until the machine boots from its disk. The boot loader is installed
//     (prepare_instance_boot), the agent powers the machine off (tear_down_agent), and the machine boots from its disk
//     (boot_instance).
//     Steps of the agent and of the request run between these, by their priorities. An image of Glance and an ISO are
//     refused.
//   - "custom-agent": the same without write_image. The steps of the agent that the client requests
//     write the image. Another program in the ramdisk may do that, and then calls
//     [conductor.Conductor.Resume].
//
// With the capability secure_boot of an instance and the management interface "redfish", the boot mode is set to
// UEFI and secure boot is enabled before the instance boots, and a tear-down disables it.
//
// If disable_power_off is set, the steps reboot the machine instead of powering it off and on,
// and a tear-down reboots it.
//
// # Keys of driver_info
//
// The interfaces that are not listed read none. Some keys have one valid value, and some are only refused.
//
//	power, management, inspect, bios, vendor, firmware: redfish
//		redfish_address redfish_username redfish_password redfish_system_id redfish_auth_type redfish_verify_ca
//		redfish_tls_minimum_version redfish_tls_ciphers firmware_update_unresponsive_bmc_wait
//	power, management: ipmitool
//		ipmi_address ipmi_port ipmi_username ipmi_password ipmi_cipher_suite ipmi_protocol_version ipmi_priv_level
//		ipmi_bridging ipmi_hex_kg_key ipmi_force_boot_device ipmi_disable_boot_timeout ipmi_terminal_port
//	power, management, firmware: bmclib
//		bmclib_provider bmclib_address bmclib_host bmclib_username bmclib_password bmclib_verify_ca
//	boot: pxe
//		force_persistent_boot_device
//	boot: ipxe
//		force_persistent_boot_device deploy_kernel deploy_ramdisk rescue_kernel rescue_ramdisk kernel_append_params
//	boot: redfish-virtual-media
//		force_persistent_boot_device deploy_kernel deploy_ramdisk rescue_kernel rescue_ramdisk kernel_append_params
//		deploy_iso rescue_iso bootloader config_via_removable external_http_url vmedia_transport_protocol
//	deploy: direct, ramdisk, custom-agent
//		deploy_forces_oob_reboot image_download_source image_http_proxy image_https_proxy image_no_proxy agent_verify_ca
package hardware
