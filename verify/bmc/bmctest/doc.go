// SPDX-License-Identifier: Apache-2.0

// Package bmctest provides baseboard management controllers (BMCs) to test against, as net/http/httptest does servers.
//
// A [Redfish] BMC is started in one line and closed in one line. By default it has one user and one server that is off.
// It serves Redfish over TLS on a free port of the loopback interface:
//
//	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
//	if err != nil {
//		return err
//	}
//	defer bmc.Close()
//
// Clients connect to bmc.Host and bmc.Port as DefaultUser with DefaultPassword, and trust bmc.CertPool, which differs
// for each BMC. A test observes the clients, and changes the servers behind their backs:
//
//	fmt.Println(bmc.Power("1")) // the state of the server with ID "1"
//	bmc.SetPower("1", "Paused") // a state that no client expects
//	fmt.Println(bmc.Sessions()) // empty if the clients have logged out
//	fmt.Println(bmc.Logins())   // the number of login attempts
//
// The BMC has a chassis, a manager with two slots of virtual media, an update service, and for each system processors,
// memory modules, drives, network interfaces, BIOS attributes with their registry, and secure boot. Hardware counts the
// parts. What clients change at once, and what takes effect when the system is powered on or reset, tests can read:
//
//	fmt.Println(bmc.Media("CD"))     // the URL of the image that is inserted
//	fmt.Println(bmc.Boot("1"))       // such as "Cd Once UEFI"
//	fmt.Println(bmc.BIOS("1"))       // the attributes in force
//	fmt.Println(bmc.SecureBoot("1")) // whether the system has booted with secure boot
//	fmt.Println(bmc.NMIs("1"))       // the number of nonmaskable interrupts
//
// Real BMCs fail in more ways than servers do. A [Fault] selects requests that fail, and its [Effect] says how they
// fail, on the real connection. This BMC stops sending in the middle of the answer to the second request for its
// server:
//
//	bmc.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Skip: 1, Do: bmctest.HangAfter(120)})
//
// The path of any resource will do. With these faults one drive is missing, the list of drives has a null in it, a
// collection's next page is the collection itself, and a number is a text; and a slot whose actions are left out takes
// PATCH alone:
//
//	const system = "/redfish/v1/Systems/1"
//	bmc.AddFault(bmctest.Fault{On: system + "/Storage/1/Drives/2", Do: bmctest.Status(404)})
//	bmc.AddFault(bmctest.Fault{On: system + "/Storage/1", Do: bmctest.Property("Drives", []any{nil})})
//	bmc.AddFault(bmctest.Fault{On: system + "/Memory", Do: bmctest.Property("Members@odata.nextLink", system+"/Memory")})
//	bmc.AddFault(bmctest.Fault{On: system + "/Memory/DIMM1", Do: bmctest.Property("CapacityMiB", "16384")})
//	bmc.AddFault(bmctest.Fault{On: "/redfish/v1/Managers/bmc/VirtualMedia/CD", Do: bmctest.WithoutProperty("Actions")})
//
// The BMCs of a family differ from other families' in their resources, actions and words. A [Profile] describes a
// family as data. This BMC wants a body in EjectMedia, has weak ETags, and refuses changes for a while,
// since its machine boots:
//
//	hpe := bmctest.HPE()
//	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Profile: hpe, Faults: hpe.Quirks})
//
// Profiles lists all families, so that a test goes through them. The system has the ID that the profile says, and
// Media("") is the image in the first slot that has one, whatever its ID is.
//
// [Quirks] lists what people report of BMCs, as faults with which a client should do its work, since Ironic does:
//
//	for _, quirk := range bmctest.Quirks() {
//		bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Faults: []bmctest.Fault{quirk}})
//		// ... the client does what it does with any other BMC ...
//		bmc.Close()
//	}
//
// Handle and Change make new effects. Effects lists one of every kind, except the effects of single families, so that a
// test can go through them; a client of BMCs should survive all of them, and BadCertificates. Effect.Fails says why it
// can do its work with few of them alone:
//
//	for _, do := range bmctest.Effects() {
//		bmc.AddFault(bmctest.Fault{Do: do})
//		// ... the client says what is wrong, within its time limit ...
//		bmc.ClearFaults()
//	}
//
// NewIPMI makes an [IPMI] BMC for IPMI 2.0. It needs the program ipmi_sim of OpenIPMI; its error matches
// exec.ErrNotFound if the program is missing. The BMC can be killed, restarted, and cut off from the network. An
// [IPMIFault] selects messages of a client that fail, before a session and in it. This BMC does not answer the first
// RAKP Message 1, and is too busy for the first two requests for the power state:
//
//	bmc.AddFault(bmctest.IPMIFault{Times: 1, Do: bmctest.Unanswered(bmctest.RAKP1)})
//	bmc.AddFault(bmctest.IPMIFault{Times: 2, Do: bmctest.Refused(bmctest.ChassisStatus, bmctest.NodeBusy)})
//
// IPMIEffects lists what people report of BMCs. A client should do its work with a few messages that have such an
// effect, except where IPMIEffect.Fails says why not. A test that goes through them takes 5 s and more for a message
// without an answer, for which ipmitool waits.
//
// The package does not import package testing, so that programs can use it as well.
//
// # Inside
//
// A request over Redfish comes to redfish_http.go, which looks for a fault (fault.go) and then for the resource at the
// path (redfish_tree.go). A resource is a handler for each method. The resources are in files by their kind, such as
// redfish_system.go, redfish_boot.go and redfish_media.go; redfish_decode.go reads the bodies of requests, and
// redfish_message.go and redfish_problem.go make the replies. An effect (effect.go, and effect_vendor.go and
// effect_hostile.go for single families and for hostile BMCs) replaces or changes a reply in an exchange (exchange.go).
// Over IPMI the program ipmi_sim answers (ipmi.go). A relay before it counts log-ins and plays faults (relay.go,
// ipmi_fault.go); what it reads and makes of packets is in ipmi_packet.go.
package bmctest
