package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// sandboxExec runs a program with a Seatbelt profile. Its path is fixed, because a program of that name elsewhere could be anything.
const sandboxExec = "/usr/bin/sandbox-exec"

// maxProfile bounds the length of a profile, which is an argument: macOS limits all arguments and the environment to 1 MiB.
const maxProfile = 200_000

// seatbeltBase allows what programs need apart from files and hosts. The Mach services look up users, temporary directories and
// logs; those of the keychain (com.apple.securityd.xpc, com.apple.SecurityServer) are not among them. Hard links (file-link) are
// not allowed, because another path of a file would have other rules; programs copy instead.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow sysctl-write (sysctl-name "kern.grade_cputype"))
(allow mach-host*)
(allow ipc-posix-sem)
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow file-read*)
(allow file-write*
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (subpath "/dev/fd"))
(allow file-ioctl
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (regex #"^/dev/ttys[0-9]+$"))
(allow pseudo-tty)
(allow file-write* (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
`

// seatbeltNetwork opens the network. The services resolve names and verify certificates. They are not open for the proxy alone,
// because they connect to hosts that a certificate names; programs that use the system's verification, such as those in Go, cannot
// use TLS through the proxy. Unix sockets stay closed, except that of the resolver.
const seatbeltNetwork = `(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.trustd.agent"))
(deny network-outbound (remote unix-socket))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
`

// profile returns the Seatbelt profile of a policy, in Apple's sandbox profile language. The last rule that matches counts, so the
// rules of inner paths follow those of outer ones. If the profile would become too long, directories stand for the files in them.
func profile(p *Policy) string {
	all := *p
	if p.Temp != "" {
		all.Write = append(slices.Clip(p.Write), p.Temp)
	}
	at := collect(&all)
	for len(at) > maxMounts {
		if !coarsen(at) {
			break
		}
	}
	for {
		text := render(p, order(at))
		if len(text) <= maxProfile || !coarsen(at) {
			return text
		}
	}
}

func render(p *Policy, all []mount) string {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	for _, m := range all {
		path, ok := quoteSBPL(m.path)
		if !ok {
			continue
		}
		switch m.as {
		case writable:
			fmt.Fprintf(&b, "(allow file-read* file-write* (subpath %s))\n", path)
		case readable:
			fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", path)
		case hidden: // names and sizes are no secret, and programs fail in directories whose entries they cannot list
			fmt.Fprintf(&b, "(deny file-read* file-write* (subpath %s))\n(allow file-read-metadata (subpath %s))\n", path, path)
		case shown:
			fmt.Fprintf(&b, "(allow file-read* (subpath %s))\n(deny file-write* (subpath %s))\n", path, path)
		}
	}
	for _, dir := range moves(all) {
		if path, ok := quoteSBPL(dir); ok {
			fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", path)
		}
	}
	if p.Network {
		b.WriteString(seatbeltNetwork)
	} else if p.ProxyPort > 0 {
		fmt.Fprintf(&b, "(allow network-outbound (remote ip \"localhost:%d\"))\n", p.ProxyPort)
	}
	if path, ok := quoteSBPL(filepath.Clean(p.Temp)); ok && p.Temp != "" {
		fmt.Fprintf(&b, "(allow system-socket (socket-domain AF_UNIX))\n(allow network-bind network-inbound (local unix-socket (subpath %s)))\n(allow network-outbound (remote unix-socket (subpath %s)))\n", path, path)
	}
	return b.String()
}

// moves returns the directories around the paths with rules, up to the outermost path that programs may change. Rules are for
// paths: if such a directory were moved, those of what it contains would no longer apply.
func moves(all []mount) []string {
	as := make(map[string]access)
	for _, m := range all {
		as[m.path] = m.as
	}
	changeable := func(path string) bool {
		for ; ; path = filepath.Dir(path) {
			if found, ok := as[path]; ok {
				return found == writable
			}
			if path == filepath.Dir(path) {
				return false
			}
		}
	}
	seen := make(map[string]bool)
	var dirs []string
	for _, m := range all {
		for dir := filepath.Dir(m.path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			if changeable(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// quoteSBPL returns a path as a string literal of the profile language. It reports false for a path that cannot exist.
func quoteSBPL(path string) (string, bool) {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`, !strings.ContainsRune(path, 0)
}
