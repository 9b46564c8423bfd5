// Package bmctest provides baseboard management controllers (BMCs) to test against, as net/http/httptest does servers.
//
// A [Redfish] BMC is started in one line and closed in one line. By default it has one user and one server that is off. It
// serves Redfish over TLS on a free port of the loopback interface:
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
// Real BMCs fail in more ways than servers do. A [Fault] selects requests that fail, and its [Effect] says how they fail, on
// the real connection. This BMC stops sending in the middle of the answer to the second request for its server:
//
//	bmc.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Skip: 1, Do: bmctest.HangAfter(120)})
//
// Handle and Change make new effects. Effects lists one of every kind, so that a test can go through them; a client of BMCs
// should survive all of them, and BadCertificates:
//
//	for _, do := range bmctest.Effects() {
//		bmc.AddFault(bmctest.Fault{Do: do})
//		// ... the client says what is wrong, within its time limit ...
//		bmc.ClearFaults()
//	}
//
// NewIPMI makes an [IPMI] BMC for IPMI 2.0. It needs the program ipmi_sim of OpenIPMI; its error matches exec.ErrNotFound if
// the program is missing. The BMC can be killed, restarted, and cut off from the network.
//
// The package imports the standard library and package secret only, and does not import package testing, so that programs
// can use it as well.
package bmctest
