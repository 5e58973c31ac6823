//go:build unix

package registry

import "io/fs"

// openToOthers reports whether other users than the owner have any permission for the file.
func openToOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
