//go:build linux || darwin

package toolkit

import (
	"time"

	"golang.org/x/sys/unix"
)

// stampOf returns the stamp of a directory.
func stampOf(path string) (stamp dirStamp, ok bool) {
	var st unix.Stat_t
	for {
		if err := unix.Stat(path, &st); err != unix.EINTR {
			if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
				return dirStamp{}, false
			}
			return dirStamp{uint64(st.Dev), st.Ino, time.Unix(st.Ctim.Unix())}, true //nolint:unconvert // Dev has 32 bits on macOS
		}
	}
}
