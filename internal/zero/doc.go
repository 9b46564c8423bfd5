// Package zero calls every exported function and method of this repository's public
// packages with zero values: nil pointers, contexts, functions and slices, empty
// strings and structs. No call may panic, hang or leak a goroutine.
//
// The list of the functions and types is in calls_test.go, which is generated:
//
//	go generate ./internal/zero
package zero

//go:generate go run ./gen
