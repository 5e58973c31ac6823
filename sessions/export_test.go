package sessions

var (
	// DirName is the name of a session directory.
	DirName = dirName
	// Lock locks a session file.
	Lock = lock
)
