package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// boxSelf is where a box has this program.
const (
	boxSelf = "/run/gjc/self"
	// boxNone and boxVoid are an unreadable file and directory.
	boxNone = "/run/gjc/none"
	boxVoid = "/run/gjc/void"
)

// kept are the entries of /run that a box has: programs of systems that keep them there. Everything else there is sockets.
var kept = []string{"booted-system", "current-system", "opengl-driver", "opengl-driver-32"}

// bubblewrapArgs returns the options of bubblewrap. It makes files in the directory state.
func bubblewrapArgs(p *Policy, state, self string) ([]string, error) {
	none, void := filepath.Join(state, "none"), filepath.Join(state, "void")
	if err := os.WriteFile(none, nil, 0); err != nil {
		return nil, err
	}
	if err := os.Mkdir(void, 0); err != nil {
		return nil, err
	}
	args := []string{
		"--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/var/tmp",
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	for _, name := range kept {
		args = append(args, "--ro-bind-try", filepath.Join("/run", name), filepath.Join("/run", name))
	}
	args = append(args, "--ro-bind", self, boxSelf, "--ro-bind", none, boxNone, "--ro-bind", void, boxVoid)
	if p.Temp == "" {
		args = append(args, "--tmpfs", "/tmp")
	} else {
		args = append(args, "--bind", p.Temp, "/tmp", "--bind", p.Temp, p.Temp)
	}
	all := mounts(p)
	for i, m := range all {
		info, err := os.Lstat(m.path)
		switch {
		case m.path == "/": // the base
		case err == nil && info.IsDir() && m.as == hidden && showsBelow(all[i+1:], m.path):
			args = append(args, "--perms", "0111", "--tmpfs", m.path)
		case err != nil: // it has gone, or cannot be reached
		case m.as == writable:
			args = append(args, "--bind", m.path, m.path)
		case m.as == readable || m.as == shown:
			args = append(args, "--ro-bind", m.path, m.path)
		case info.IsDir():
			args = append(args, "--ro-bind", void, m.path)
		default:
			args = append(args, "--ro-bind", none, m.path)
		}
	}
	return args, nil
}

// showsBelow reports whether one of the mounts shows something below a directory. An empty directory that cannot be changed has no place
// for it.
func showsBelow(all []mount, dir string) bool {
	return slices.ContainsFunc(all, func(m mount) bool { return m.as != hidden && strings.HasPrefix(m.path, dir+"/") })
}
