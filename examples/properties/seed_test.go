// SPDX-License-Identifier: Apache-2.0

package main

import _ "github.com/ironstate/ironstate/internal/rapidseed" // apart from main_test.go, which is made to be copied
