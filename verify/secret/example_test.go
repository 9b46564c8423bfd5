// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/json"
	"fmt"

	"github.com/ironstate/ironstate/verify/secret"
)

func Example() {
	var config struct {
		User     string
		Password secret.Text
	}
	fmt.Println(json.Unmarshal([]byte(`{"User": "admin", "Password": "hunter2"}`), &config))
	fmt.Printf("%+v\n", config)
	fmt.Println(len(config.Password.Reveal()))
	// Output:
	// <nil>
	// {User:admin Password:***}
	// 7
}

// Only Reveal returns the secret.
func ExampleText() {
	password := secret.New("hunter2")
	fmt.Printf("%v %+v\n", password, struct{ Password secret.Text }{password})
	fmt.Println(len(password.Reveal()))
	// Output:
	// *** {Password:***}
	// 7
}
