package sessions

// DirName is the name of a session directory.
var DirName = dirName
