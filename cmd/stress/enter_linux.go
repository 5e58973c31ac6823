package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// enterCommand is the first argument of a call of this program that changes its namespaces and then executes another
// program.
const enterCommand = "__enter"

func needNamespaces() string { return needRoot() }

// inNamespaces gives cmd network and mount namespaces of its own.
func inNamespaces(cmd *exec.Cmd) {
	if slices.Contains(cmd.Args, "noipv6") {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	cmd.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS
}

// enter applies the arguments up to "--", and then executes the program that follows: its path, then its arguments.
func enter(args []string) error {
	i := slices.Index(args, "--")
	if i < 0 || len(args) < i+3 {
		return errors.New("usage error")
	}
	for _, step := range args[:i] {
		var err error
		if dir, ok := strings.CutPrefix(step, "readonly="); ok {
			err = makeReadOnly(dir)
		} else {
			err = withoutIPv6()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return syscall.Exec(args[i+1], args[i+2:], os.Environ())
}

func makeReadOnly(dir string) error {
	return errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(dir, dir, "", unix.MS_BIND, ""),
		unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""),
	)
}

// withoutIPv6 brings up the loopback of a new network namespace, for IPv4 only.
func withoutIPv6() error {
	for _, name := range []string{"all", "default", "lo"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}
