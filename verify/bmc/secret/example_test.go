package secret_test

import (
	"encoding/json"
	"fmt"

	"github.com/ironstate/ironstate/verify/bmc/secret"
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
