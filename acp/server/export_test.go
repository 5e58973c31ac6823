package server

// WireError maps a handler's error to the error that is sent.
var WireError = wireError

// ErrorKinds returns all values of data.kind with their meanings.
func ErrorKinds() [][2]string { return kindsOf(append(modelErrors(), otherErrors()...)) }

// ModelErrorKinds returns the values of data.kind for failed model calls, with their meanings.
func ModelErrorKinds() [][2]string { return kindsOf(modelErrors()) }

func kindsOf(kinds []errorKind) [][2]string {
	var all [][2]string
	for _, k := range kinds {
		all = append(all, [2]string{k.kind, k.means})
	}
	return all
}

// DefaultSettings returns the settings of sessions without a configuration.
var DefaultSettings = defaultSettings
