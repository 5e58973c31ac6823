// Package acp implements the Agent Client Protocol, version 1: its types, its methods, and both ends of a connection.
//
// "go generate ./acp" makes the types from the official JSON Schema. They encode and decode themselves, with jsonx and with
// encoding/json, by these rules:
//
//   - A required member is a plain field. If it is missing or has the wrong type, decoding fails with the place of the
//     error. A nil slice or map is written as empty.
//   - An optional member is omitted if it has the zero value. If zero has a meaning, the field is a pointer; if null and
//     omitted differ, it is a [Nullable]. Flags and objects with a default are always written.
//   - A member that the schema calls forgiving is dropped if its value has the wrong type. A forgiving array drops only the
//     items that do not fit.
//   - A union is an interface that only pointers to its variants implement (variants that are not objects, by value). A
//     variant of an unknown kind is kept unchanged in an UnknownX. A variant that is written by itself includes its
//     discriminator, so that the union's Decode function can read it. As a plain member, such as the tool call of a
//     permission request, it does not.
//   - A value that the protocol names, such as a tool kind, has a string type. Values from newer peers are kept; Known
//     reports whether this package knows a value.
//
// Unstable parts of the protocol are included and marked. Members of unknown names are dropped; [Meta] carries extensions.
package acp

//go:generate go run ./generate
