package registry

import "io/fs"

// openToOthers returns false: Windows has no such mode bits, and other users have no access to the user's profile.
func openToOthers(fs.FileMode) bool { return false }
