package gateway

import "io/fs"

// private returns no error: the permissions of a file are not in its mode here.
func private(fs.FileInfo) error { return nil }
