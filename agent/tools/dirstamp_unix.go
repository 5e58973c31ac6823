//go:build linux || darwin

package tools

import (
	"time"

	"golang.org/x/sys/unix"
)

// stampOf returns the stamp of a directory.
func stampOf(path string) (stamp dirStamp, ok bool) {
	var st unix.Stat_t
	for {
		if err := unix.Stat(path, &st); err != unix.EINTR { //nolint:errorlint // as unix returns it
			if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
				return dirStamp{}, false
			}
			return dirStamp{uint64(st.Dev), uint64(st.Ino), time.Unix(st.Ctim.Unix())}, true
		}
	}
}
