package conductor

import "golang.org/x/crypto/bcrypt"

func init() { hashCost = bcrypt.MinCost }

// DecodeNode is for tests that look into a store.
var DecodeNode = decodeNode
