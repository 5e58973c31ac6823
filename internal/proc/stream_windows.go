package proc

import "os"

// readNow exists only for systems whose pipes have deadlines; those of Windows do not.
func readNow(*os.File, []byte) (int, error) { return 0, os.ErrDeadlineExceeded }
