package bmctest_test

import (
	"fmt"
	"log"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// A BMC that answers once and then breaks off in the middle.
func ExampleFault() {
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{
		Faults: []bmctest.Fault{{On: "/redfish/v1", Skip: 1, Do: bmctest.CloseAfter(20)}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer bmc.Close()
	for range 2 {
		resp, err := bmc.Client().Get(bmc.URL)
		if err != nil {
			fmt.Println("broken off")
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 200 OK
	// broken off
}
