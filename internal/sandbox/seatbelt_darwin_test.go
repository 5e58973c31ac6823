package sandbox

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// The profile holds in the kernel what [TestProfile_Rules] reads in its text.
func TestSeatbelt(t *testing.T) {
	s, err := Find(&Host{LookPath: exec.LookPath})
	if err != nil {
		testenv.Skip(t, "%v", err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w/a", "w/kept", "w/.env", "w/dir/key", "w/dir/a", "own/secret", "own/shown", "temp/a"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("R", root)
	t.Setenv("PORT", port)
	at := func(name string) string { return filepath.Join(root, name) }
	p := &Policy{
		Write: []string{at("w")}, Keep: []string{at("w/kept")}, Hide: []string{at("w/.env"), at("w/dir/key"), at("own")}, Show: []string{at("own/shown")}, Temp: at("temp"),
	}
	run := func(p *Policy, line string) error {
		program, args := s.Confine(p, "/bin/sh", []string{"-c", line})
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		t.Logf("%s: %v: %s", line, err, out)
		return err
	}
	for _, line := range []string{
		"cat $R/w/.env", "cat $R/own/secret", "ln $R/w/.env $R/w/b && cat $R/w/b", "mv $R/w/.env $R/w/b && cat $R/w/b", "mv $R/w/dir $R/w/dir2", "rm -f $R/w/kept", "echo x > $R/w/kept",
		"echo x > $R/new", "echo x > $R/own/shown", "nc -z 127.0.0.1 $PORT",
	} {
		if run(p, line) == nil {
			t.Errorf("%s worked", line)
		}
	}
	for _, line := range []string{"cat $R/w/a $R/w/kept $R/w/dir/a $R/own/shown", "echo x > $R/w/new && cat $R/w/new && mv $R/w/new $R/w/dir/new", "echo x > $R/temp/b", "echo x > /dev/null", "ls -l $R/w"} {
		if err := run(p, line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := run(&Policy{Network: true}, "nc -z 127.0.0.1 $PORT"); err != nil {
		t.Errorf("with the network: %v", err)
	}
	p.ProxyPort = l.Addr().(*net.TCPAddr).Port
	if err := run(p, "nc -z 127.0.0.1 $PORT"); err != nil {
		t.Errorf("the proxy: %v", err)
	}
}
