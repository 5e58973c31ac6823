package toolkit

import "golang.org/x/sys/unix"

// stampsRelied reports whether path is on an APFS of this machine: other file systems may show changes late, or have coarse clocks.
func stampsRelied(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.MNT_LOCAL != 0 && unix.ByteSliceToString(st.Fstypename[:]) == "apfs"
}
