// Package acp is the Agent Client Protocol, version 1, as Go: its types, its methods, and the two ends of a connection.
//
// The types come from the official JSON Schema by "go generate ./acp". They read and write themselves, with jsonx and
// with encoding/json alike, by these rules:
//
//   - A member that must be there is a plain field. If it is missing or has the wrong type, decoding fails with the
//     place of the fault; a nil slice or map is written as empty.
//   - A member that may be absent is absent for the zero value. Where zero means something it is a pointer, and where
//     null means something else than absent it is a [Nullable]. Flags and objects with a default are always written.
//   - A member that the schema calls forgiving is dropped when its value has the wrong type, and a forgiving array
//     loses only its bad items.
//   - A union is an interface that only pointers to its variants satisfy (and the few variants that are no objects, by
//     value). A variant that this package does not know is kept as it came in an UnknownX. A variant that is written by
//     itself includes its discriminator, so that the union's Decode function reads it back; as a plain member, such as
//     the tool call of a permission request, it does not.
//   - A name the protocol gives a value, such as a tool kind, is a string type. Values from newer peers are kept; Known
//     tells them apart.
//
// Unstable parts of the protocol are included and say so. Members that no type names are dropped; what must survive
// goes into [Meta].
package acp

//go:generate go run ./generate
