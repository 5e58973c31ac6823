package jsonx

import "github.com/go-json-experiment/json"

// Strict refuses members that the Go type does not have.
func Strict() Options { return json.RejectUnknownMembers(true) }
