// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// Many nodes are verified, four at a time.
func ExampleManage_many() {
	verifier := verify.Func(func(context.Context) (states.Power, error) { return states.PowerOff, nil })
	slots := make(chan struct{}, 4)
	var all sync.WaitGroup
	var managed atomic.Int64
	for range 100 {
		node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
		if err != nil {
			panic(err)
		}
		slots <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-slots }()
			if _, err := verify.Manage(context.Background(), node, verifier); err == nil {
				managed.Add(1)
			}
		}()
	}
	all.Wait()
	fmt.Println(managed.Load(), "nodes are manageable")
	// Output: 100 nodes are manageable
}

// A service answers its client while verification continues.
func ExampleStart() {
	node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
	if err != nil {
		panic(err)
	}
	verifier := verify.Func(func(context.Context) (states.Power, error) { return states.PowerOff, nil })
	service := context.Background() // ends with the service, not with the client's request
	wait, err := verify.Start(service, node, verifier)
	if err != nil {
		panic(err)
	}
	fmt.Println("202 Accepted")
	power, err := wait()
	fmt.Println(node.Node().State, power, err)
	// Output:
	// 202 Accepted
	// manageable power off <nil>
}

func ExampleManage() {
	node, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
		Name:  "rack1-u7",
	})
	if err != nil {
		panic(err)
	}
	// Package bmc has the verifiers for real BMCs.
	var verifier verify.Func = func(context.Context) (states.Power, error) {
		return states.NoPower, &verify.Error{Op: "power state", Kind: verify.Unreachable}
	}

	_, err = verify.Manage(context.Background(), node, verifier)
	fmt.Println(errors.Is(err, verify.Unreachable))
	fmt.Println(node.Node().State)
	fmt.Println(node.Node().LastError)
	// Output:
	// true
	// enroll
	// verification of node rack1-u7 failed: power state: unreachable
}

// A service with its own records makes the transitions itself.
func ExampleRun() {
	verifier := verify.Func(func(context.Context) (states.Power, error) {
		return states.NoPower, &verify.Error{Op: "power state", Kind: verify.Credentials, Protocol: "redfish", Host: "10.0.0.7"}
	})
	_, err := verify.Run(context.Background(), "node-1", verifier)
	fmt.Println(err)
	fmt.Println(errors.Is(err, verify.Credentials))
	// Output:
	// verification of node node-1 failed: power state: redfish 10.0.0.7: credentials refused
	// true
}
