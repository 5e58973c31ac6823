package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// The tests in this file run on machines of other kinds: this test binary starts itself in namespaces with other mounts and limits.

// machineEnv names the machine in which this process runs a test.
const machineEnv = "GJC_TEST_MACHINE"

// machine reports whether this process is the machine of a test. If it is not, machine starts the test in one, with the command in the
// shell line setup before it, and takes over its result. The machine has user and mount namespaces of its own.
func machine(t *testing.T, setup string) bool {
	t.Helper()
	if os.Getenv(machineEnv) == t.Name() {
		return true
	}
	boxes(t) // what a machine needs, bubblewrap needs, too
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", setup+` && exec "$0" "$@"`, self, "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	cmd.Env = append(os.Environ(), machineEnv+"="+t.Name())
	out, err := cmd.CombinedOutput()
	result(t, string(out), err)
	return false
}

// result takes over the result of the test in another process.
func result(t *testing.T, out string, err error) {
	t.Helper()
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(out, "--- SKIP: "+t.Name()+" "):
		testenv.Skip(t, "%s", out)
	case !strings.Contains(out, "--- PASS: "+t.Name()+" "):
		t.Errorf("it did not run: %s", out)
	default:
		t.Log(out)
	}
}

// holds checks what every boundary holds: programs change files of the root only, cannot change what is kept or read what is
// hidden, and have no network.
func holds(t *testing.T, s *sandbox.Sandbox, root string) {
	t.Helper()
	python := testenv.NeedsTool(t, "python3")
	outside := testenv.DirOutsideTemp(t)
	for _, name := range []string{"kept", "secret", "sub/file"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			write(t, filepath.Join(root, name), strings.ToUpper(name))
		}
	}
	write(t, filepath.Join(outside, "file"), "FILE")
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := &sandbox.Policy{Write: []string{root}, Keep: []string{filepath.Join(root, "kept")}, Hide: []string{filepath.Join(root, "secret")}}
	t.Setenv("R", root)
	t.Setenv("H", outside)
	for _, line := range []string{
		"echo evil > $R/kept", "rm -f $R/kept", "mv $R/sub/file $R/kept", "truncate -s 0 $R/kept", "cat $R/secret", "echo evil > $R/secret", "mv $R/secret $R/sub/x",
		"echo evil > $H/file", "touch $H/new", "rm $H/file", "mv $H/file $R/sub/x", "ln $H/file $R/sub/x && echo evil > $R/sub/x",
		python + ` -c 'import socket; socket.create_connection(("127.0.0.1", ` + port + `), 5)'`,
	} {
		if out, err := probe(t, s, p, line); err == nil {
			t.Errorf("%s: %s worked: %s", s.Kind, line, out)
		}
	}
	if out, err := probe(t, s, p, "echo new > $R/sub/made && cat $R/sub/made $R/kept $H/file && rm $R/sub/made"); err != nil || out != "new\nKEPTFILE" {
		t.Errorf("%s: what is allowed: %q, %v", s.Kind, out, err)
	}
	for path, want := range map[string]string{filepath.Join(root, "kept"): "KEPT", filepath.Join(root, "secret"): "SECRET", filepath.Join(outside, "file"): "FILE"} {
		if data, err := os.ReadFile(path); err != nil || string(data) != want {
			t.Errorf("%s: %s is %q, %v", s.Kind, path, data, err)
		}
	}
}

// mount mounts something for the test.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Fatalf("mounting %s at %s: %v", kind, target, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// A root on an overlay file system is as any other: also files that only its lower layer has are kept and hidden, and stay so
// after they have been copied to the upper layer or replaced.
func TestMachine_Overlay(t *testing.T) {
	if !machine(t, "true") {
		return
	}
	for _, lower := range []string{"same", "other"} { // file system as the upper layer
		t.Run(lower, func(t *testing.T) {
			kinds(t, func(t *testing.T, s *sandbox.Sandbox) { overlays(t, s, lower == "other") })
		})
	}
}

func overlays(t *testing.T, s *sandbox.Sandbox, other bool) {
	dir := testenv.DirOutsideTemp(t)
	if other {
		mount(t, "tmpfs", filepath.Join(dir, "lower"), "tmpfs", 0, "")
	}
	for _, name := range []string{"kept", "secret", "replaced", "copied"} {
		write(t, filepath.Join(dir, "lower", name), strings.ToUpper(name))
	}
	write(t, filepath.Join(dir, "lower", "sub", "file"), "FILE")
	for _, name := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(dir, "root")
	mount(t, "overlay", root, "overlay", 0, fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work,userxattr", dir, dir, dir))
	holds(t, s, root)
	if left, err := os.ReadDir(filepath.Join(dir, "upper")); err != nil || len(left) != 1 || left[0].Name() != "sub" {
		t.Errorf("the upper layer has %v, %v; want what has been written", left, err)
	}
	if s.Kind != sandbox.Bubblewrap {
		return
	}
	copied, replaced := filepath.Join(root, "copied"), filepath.Join(root, "replaced")
	p := &sandbox.Policy{Write: []string{root}, Keep: []string{copied, replaced}}
	box := open(t, s, p)
	if err := os.WriteFile(copied, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The copy is kept also before the box protects it again.
	if out, err := inside(t, box, "echo evil > "+copied); err == nil {
		t.Errorf("%s can be changed: %s", copied, out)
	}
	write(t, filepath.Join(root, "next"), "mine")
	if err := os.Rename(filepath.Join(root, "next"), replaced); err != nil {
		t.Fatal(err)
	}
	if err := box.Protect(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Keep {
		for _, line := range []string{"echo evil > " + path, "rm -f " + path} {
			if out, err := inside(t, box, line); err == nil {
				t.Errorf("%s worked: %s", line, out)
			}
		}
		if out, err := inside(t, box, "cat "+path); err != nil || out != "mine" {
			t.Errorf("%s: %q, %v", path, out, err)
		}
	}
}

// A root on a file system that is mounted read-only can be used, and refuses changes with the usual words.
func TestMachine_ReadOnlyRoot(t *testing.T) {
	if !machine(t, "true") {
		return
	}
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		root, outside := filepath.Join(testenv.DirOutsideTemp(t), "root"), testenv.DirOutsideTemp(t)
		for _, name := range []string{"kept", "secret", "sub/file"} {
			write(t, filepath.Join(root, name), name)
		}
		mount(t, root, root, "", unix.MS_BIND, "")
		if err := unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		t.Setenv("R", root)
		t.Setenv("H", outside)
		p := &sandbox.Policy{Write: []string{root}, Keep: []string{filepath.Join(root, "kept")}, Hide: []string{filepath.Join(root, "secret")}}
		for _, line := range []string{"touch $R/sub/new", "echo evil > $R/sub/file", "rm $R/sub/file"} {
			if out, err := probe(t, s, p, "LC_ALL=C; export LC_ALL; "+line); err == nil || !strings.Contains(out, "Read-only file system") {
				t.Errorf("%s: %q, %v", line, out, err)
			}
		}
		for _, line := range []string{"echo evil > $R/kept", "cat $R/secret", "touch $H/new", "mount -o remount,bind,rw $R", "umount $R"} {
			if out, err := probe(t, s, p, line); err == nil {
				t.Errorf("%s worked: %s", line, out)
			}
		}
		if out, err := probe(t, s, p, "cat $R/kept $R/sub/file"); err != nil || out != "keptsub/file" {
			t.Errorf("reading: %q, %v", out, err)
		}
	})
}

// A root may be a mount point, and may contain others, whose files are kept and hidden, too.
func TestMachine_Mounts(t *testing.T) {
	if !machine(t, "true") {
		return
	}
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		root, elsewhere := filepath.Join(testenv.DirOutsideTemp(t), "root"), testenv.DirOutsideTemp(t)
		mount(t, "tmpfs", root, "tmpfs", 0, "")
		holds(t, s, root)
		p := &sandbox.Policy{Write: []string{root}}
		for name, mounted := range map[string]func(string){
			"tmpfs": func(at string) { mount(t, "tmpfs", at, "tmpfs", 0, "") },
			"bind":  func(at string) { mount(t, elsewhere, at, "", unix.MS_BIND, "") },
		} {
			at := filepath.Join(root, "sub", name)
			mounted(at)
			for _, name := range []string{"kept", "secret", "deep/file"} {
				write(t, filepath.Join(at, name), strings.ToUpper(name))
			}
			p.Keep, p.Hide = append(p.Keep, filepath.Join(at, "kept")), append(p.Hide, filepath.Join(at, "secret"))
		}
		for _, name := range []string{"tmpfs", "bind"} {
			at := filepath.Join(root, "sub", name)
			t.Setenv("R", at)
			for _, line := range []string{"echo evil > $R/kept", "rm -f $R/kept", "mv $R/deep/file $R/kept", "cat $R/secret", "umount $R", "mv $R/secret $R/deep/x"} {
				if out, err := probe(t, s, p, line); err == nil {
					t.Errorf("%s: %s worked: %s", name, line, out)
				}
			}
			if out, err := probe(t, s, p, "echo new > $R/deep/made"); err != nil {
				t.Errorf("%s: what is allowed: %q, %v", name, out, err)
			}
			for file, want := range map[string]string{"kept": "KEPT", "secret": "SECRET", "deep/made": "new\n"} {
				if data, err := os.ReadFile(filepath.Join(at, file)); err != nil || string(data) != want {
					t.Errorf("%s: %s is %q, %v", name, file, data, err)
				}
			}
		}
	})
}

// In containers where bubblewrap cannot work, it says why, and Landlock holds.
func TestMachine_Container(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ setup, why string }{
		"no user namespaces": {"echo 0 > /proc/sys/user/max_user_namespaces", "amespace"},
		"refused by seccomp": {"exec \"$0\" " + refuseNamespaces + " \"$0\" \"$@\"", "amespace"},
		"masked proc":        {"mount --bind /dev/null /proc/uptime", "roc"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if !machine(t, c.setup) {
				return
			}
			h := &sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath}
			if _, err := sandbox.FindKind(sandbox.Bubblewrap, h); err == nil || !strings.Contains(err.Error(), "bwrap does not work here") || !strings.Contains(err.Error(), c.why) {
				t.Errorf("bubblewrap: %v", err)
			} else {
				t.Log(err)
			}
			fallsBack(t, h)
		})
	}
}

// fallsBack checks that Landlock is found in place of bubblewrap, and holds.
func fallsBack(t *testing.T, h *sandbox.Host) {
	t.Helper()
	s, err := sandbox.Find(h)
	if _, lacks := sandbox.FindKind(sandbox.Landlock, h); lacks != nil {
		if err == nil || !strings.Contains(err.Error(), "bwrap does not work here") {
			t.Errorf("with neither: %+v, %v", s, err)
		}
		testenv.Skip(t, "%v", lacks)
	}
	if err != nil || s.Kind != sandbox.Landlock {
		t.Fatalf("found %+v, %v; want Landlock", s, err)
	}
	holds(t, s, testenv.DirOutsideTemp(t))
}

// A box in a box holds as any other, or bubblewrap says why there is none, and Landlock holds there.
func TestMachine_BoxInBox(t *testing.T) {
	if os.Getenv(machineEnv) == t.Name() {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		h := &sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath}
		s, err := sandbox.FindKind(sandbox.Bubblewrap, h)
		if err != nil {
			t.Log(err)
			fallsBack(t, h)
			return
		}
		holds(t, s, testenv.DirOutsideTemp(t))
		return
	}
	work := testenv.DirOutsideTemp(t)
	box := open(t, boxes(t), &sandbox.Policy{Write: []string{work}, Temp: t.TempDir()})
	program, args := box.Wrap(work, "/run/gjc/self", []string{"-test.v", "-test.run", "^" + t.Name() + "$"})
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), machineEnv+"="+t.Name(), "XDG_CACHE_HOME="+work)
	out, err := cmd.CombinedOutput()
	result(t, string(out), err)
}

// refuseNamespaces makes this test binary execute a program for which seccomp refuses new namespaces, as containers do.
const refuseNamespaces = "refusenamespaces"

func refusing(command []string) error {
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	const load, jump, set, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load},
		{Code: jump, Jf: 1, K: unix.SYS_CLONE3}, // its flags are in memory
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: jump, Jt: 1, K: unix.SYS_CLONE},
		{Code: jump, Jf: 3, K: unix.SYS_UNSHARE},
		{Code: load, K: 16}, // the first argument
		{Code: set, Jf: 1, K: namespaces},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is that of the thread
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return err
	}
	return syscall.Exec(command[0], command, os.Environ())
}
