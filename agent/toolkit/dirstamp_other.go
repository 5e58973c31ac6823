//go:build !linux && !darwin

package toolkit

// stampOf knows no stamps here: NTFS can be told to leave the times of directories alone.
func stampOf(string) (dirStamp, bool) { return dirStamp{}, false }

func stampsRelied(string) bool { return false }
