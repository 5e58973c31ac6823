//go:build unix

package registry

import "io/fs"

// openToOthers reports whether anybody but the owner may do anything with the file.
func openToOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
