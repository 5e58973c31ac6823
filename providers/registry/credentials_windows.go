package registry

import "io/fs"

// openToOthers is always false: Windows has no such bits, and the user's profile is closed to other users.
func openToOthers(fs.FileMode) bool { return false }
