// Package zero calls every exported function and method of this repository's public
// packages with zero values: nil pointers, contexts, functions and slices, empty
// texts and structs. None may panic, hang or leave a goroutine behind.
//
// What there is to call is in calls_test.go, which is generated:
//
//	go generate ./internal/zero
package zero

//go:generate go run ./gen
