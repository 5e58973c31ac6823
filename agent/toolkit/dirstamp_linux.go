package toolkit

import "golang.org/x/sys/unix"

// zfsMagic is the type of a ZFS, which is not in the kernel's headers.
const zfsMagic = 0x2fc12fc1

// stampsRelied reports whether path is on a disk of this machine: others may show changes late.
func stampsRelied(path string) bool {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return false
	}
	switch uint32(st.Type) { //nolint:gosec // the width depends on the architecture, the numbers have 32 bits
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, zfsMagic:
		return true
	default:
		return false
	}
}
