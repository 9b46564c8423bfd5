package conductor

// DecodeNode is for tests that look into a store.
var DecodeNode = decodeNode
