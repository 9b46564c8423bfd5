// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func Example() {
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	client := bmc.Client()
	turnOn := func() (status string) {
		r, _ := http.NewRequest(http.MethodPost, bmc.URL+"Systems/1/Actions/ComputerSystem.Reset",
			strings.NewReader(`{"ResetType": "On"}`))
		r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
		resp, err := client.Do(r)
		if err != nil {
			return "no response"
		}
		defer resp.Body.Close()
		return resp.Status
	}
	fmt.Println(bmc.Power("1"))
	fmt.Println(turnOn())
	fmt.Println(bmc.Power("1"))

	// The BMC carries the next request out, and fails in the middle of the answer.
	_ = bmc.SetPower("1", "Off")
	bmc.AddFault(bmctest.Fault{Method: http.MethodPost, Do: bmctest.ResetAfter(12)})
	fmt.Println(turnOn())
	fmt.Println(bmc.Power("1"))
	// Output:
	// Off
	// 204 No Content
	// On
	// no response
	// On
}

func ExampleRedfish_Logins() {
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{
		Users:     map[string]secret.Text{"operator": secret.New("right")},
		LockAfter: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	for _, password := range []string{"wrong", "wrong", "right"} {
		r, _ := http.NewRequest(http.MethodGet, bmc.URL+"Systems", nil)
		r.SetBasicAuth("operator", password)
		resp, err := bmc.Client().Do(r)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(password, resp.Status)
	}
	fmt.Printf("%+v\n", bmc.Logins())
	// Output:
	// wrong 401 Unauthorized
	// wrong 401 Unauthorized
	// right 403 Forbidden
	// {Attempts:3 Succeeded:0 Failed:3}
}

// A client sets a BIOS attribute and inserts a CD, and the test sees both.
func ExampleRedfish_BIOS() {
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{
		Systems: []bmctest.System{{ID: "1", Hardware: bmctest.Hardware{DIMMs: 32, Drives: 24}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	send := func(method, path, body string) {
		r, _ := http.NewRequest(method, bmc.URL+path, strings.NewReader(body))
		r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
		resp, err := bmc.Client().Do(r)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	send(http.MethodPatch, "Systems/1/Bios/Settings", `{"Attributes": {"PowerProfile": "Performance"}}`)
	send(http.MethodPost, "Managers/bmc/VirtualMedia/CD/Actions/VirtualMedia.InsertMedia",
		`{"Image": "http://images.example/agent.iso"}`)
	fmt.Println(bmc.Media("CD"))
	fmt.Println(bmc.BIOS("1")["PowerProfile"])
	send(http.MethodPost, "Systems/1/Actions/ComputerSystem.Reset", `{"ResetType": "On"}`)
	fmt.Println(bmc.BIOS("1")["PowerProfile"])
	// Output:
	// 200 OK
	// 204 No Content
	// http://images.example/agent.iso
	// Balanced
	// 204 No Content
	// Performance
}

func ExampleFault() {
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	bmc.AddFault(bmctest.Fault{On: "/redfish/v1", Times: 2, Do: bmctest.Status(http.StatusServiceUnavailable)})
	for range 3 {
		resp, err := bmc.Client().Get(bmc.URL)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	// Output:
	// 503
	// 503
	// 200
}

// Change simulates a quirk of a BMC's firmware.
func ExampleChange() {
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	quirk := bmctest.Change("old dialect", func(header http.Header, body []byte) []byte {
		header.Set("OData-Version", "3.0")
		return body
	})
	bmc.AddFault(bmctest.Fault{Do: quirk})
	resp, err := bmc.Client().Get(bmc.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("OData-Version"))
	// Output:
	// 200 OK 3.0
}

// A client that asks once does not switch on each machine.
func ExampleQuirks() {
	for _, quirk := range bmctest.Quirks() {
		bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Faults: []bmctest.Fault{quirk}})
		if err != nil {
			log.Fatal(err)
		}
		r, _ := http.NewRequest(http.MethodPost, bmc.URL+"Systems/1/Actions/ComputerSystem.Reset", strings.NewReader(`{"ResetType": "On"}`))
		r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
		if resp, err := bmc.Client().Do(r); err == nil {
			resp.Body.Close()
		}
		if bmc.Power("1") == "Off" {
			fmt.Println(quirk.Do)
		}
		bmc.Close()
	}
	// Output:
	// Meanwhile("Off", 409)
	// Meanwhile("Off", 0)
	// PoweringOff()
	// Busy("iLO.2.15.InvalidOperationForSystemState")
}

// Some BMCs refuse to power their machine on for a while, so that a client has to ask again.
func ExampleProfile() {
	for _, p := range bmctest.Profiles() {
		bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Profile: p, Faults: p.Quirks})
		if err != nil {
			log.Fatal(err)
		}
		var answers []int
		for bmc.Power(p.SystemID) == "Off" {
			r, _ := http.NewRequest(http.MethodPost, bmc.URL+"Systems/"+p.SystemID+"/Actions/ComputerSystem.Reset",
				strings.NewReader(`{"ResetType": "On"}`))
			r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
			resp, err := bmc.Client().Do(r)
			if err != nil {
				log.Fatal(err)
			}
			resp.Body.Close()
			answers = append(answers, resp.StatusCode)
		}
		fmt.Println(p.Name, answers)
		bmc.Close()
	}
	// Output:
	// dell [409 409 204]
	// hpe [400 400 204]
	// lenovo [204]
	// supermicro [204]
	// gigabyte [204]
	// asrockrack [204]
	// nvidia [204]
	// dmtf [204]
}

func ExampleBadCertificates() {
	for _, c := range bmctest.BadCertificates() {
		bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Certificate: c})
		if err != nil {
			log.Fatal(err)
		}
		_, err = bmc.Client().Get(bmc.URL)
		fmt.Println(c, "refused:", err != nil)
		bmc.Close()
	}
	// Output:
	// expired refused: true
	// not yet valid refused: true
	// wrong name refused: true
	// foreign CA refused: true
}

func ExampleNewIPMI() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	bmc, err := bmctest.NewIPMI(ctx, bmctest.IPMIConfig{Power: "on"})
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Println("skipped:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	fmt.Println(bmc.Power())
	bmc.Kill() // clients get no answer now
	if err := bmc.Restart(ctx); err != nil {
		log.Fatal(err)
	}
	bmc.Drop(true) // the same, but the BMC keeps running
}

// The BMC is busy for a moment. A client that does not ask again would give up, as ipmitool does.
func ExampleIPMIFault() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	bmc, err := bmctest.NewIPMI(ctx, bmctest.IPMIConfig{})
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Println("skipped:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()

	bmc.AddFault(bmctest.IPMIFault{Times: 2, Do: bmctest.Refused(bmctest.ChassisStatus, bmctest.NodeBusy)})
	for range 3 {
		said, _ := exec.CommandContext(ctx, "ipmitool", "-I", "lanplus", "-C", "3", "-H", bmc.Host, "-p", strconv.Itoa(bmc.Port),
			"-U", bmctest.DefaultUser, "-P", bmctest.DefaultPassword, "chassis", "power", "status").CombinedOutput()
		fmt.Print(string(said)) // "Get Chassis Power Status failed: Node busy" twice, then "Chassis Power is off"
	}
}

// A client survives a moment of most effects.
func ExampleIPMIEffects() {
	for _, effect := range bmctest.IPMIEffects() {
		if why := effect.Fails(); why != "" {
			fmt.Printf("%v: %s\n", effect, why)
		}
	}
	// Output:
	// Refused(RAKP1, UnauthorizedName): the BMC refuses the user
}
