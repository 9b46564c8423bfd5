// Package bmctest provides baseboard management controllers (BMCs) to test against, as net/http/httptest does servers.
//
// A [Redfish] BMC is started in one line and closed in one line. It has one user and one server that is off, and speaks Redfish
// over TLS on a free port of the loopback interface:
//
//	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
//	if err != nil {
//		return err
//	}
//	defer bmc.Close()
//
// Clients reach it by bmc.Host and bmc.Port as DefaultUser with DefaultPassword, and trust bmc.CertPool, which is new
// with each BMC. A test sees what they do, and changes the servers without them:
//
//	fmt.Println(bmc.Power("1")) // the state of the server with ID "1"
//	bmc.SetPower("1", "Paused") // a state that no client expects
//	fmt.Println(bmc.Sessions()) // empty if the clients have logged out
//	fmt.Println(bmc.Logins())   // one attempt, or did the client hammer?
//
// Real BMCs fail in more ways than servers do. A [Fault] says which requests go wrong, and its [Effect] says how, on the line
// itself and not in a double of it. This BMC falls silent in the middle of the answer about its server, but only the
// second time that it is asked:
//
//	bmc.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Skip: 1, Do: bmctest.HangAfter(120)})
//
// Handle and Change make effects of your own. Effects lists one of every kind, so that a test can go through them; with
// BadCertificates it is what a client of BMCs should survive:
//
//	for _, do := range bmctest.Effects() {
//		bmc.AddFault(bmctest.Fault{Do: do})
//		// ... the client says what is wrong, within its time limit ...
//		bmc.ClearFaults()
//	}
//
// NewIPMI makes an [IPMI] BMC, the same for IPMI 2.0, and needs the program ipmi_sim of OpenIPMI; its error matches
// exec.ErrNotFound where that is missing. Its BMC can be killed, restarted, and cut off from the network.
//
// The package imports the standard library and package secret only, and does not need package testing, so that programs
// can use it as well.
package bmctest
