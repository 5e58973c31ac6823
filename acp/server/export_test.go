package server

// WireError maps an error to the wire.
var WireError = wireError

// ErrorKinds are all values of data.kind with what they mean, ModelErrorKinds those of failed model calls.
func ErrorKinds() [][2]string { return kindsOf(append(modelErrors(), otherErrors()...)) }

func ModelErrorKinds() [][2]string { return kindsOf(modelErrors()) }

func kindsOf(kinds []errorKind) [][2]string {
	var all [][2]string
	for _, k := range kinds {
		all = append(all, [2]string{k.kind, k.means})
	}
	return all
}
