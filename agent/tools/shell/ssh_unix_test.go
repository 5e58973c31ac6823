//go:build unix

package shell_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// sshWorld returns a world with the fake ssh and the environment variables env.
func sshWorld(t *testing.T, env ...string) *toolstest.World {
	t.Helper()
	testenv.NoLeaks(t)
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if n := children.Len(); n > 0 {
			t.Errorf("%d children are left", n)
		}
		_ = children.Close(context.Background())
	})
	w := toolstest.NewWorld(t, nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, fakeSSHName)); err != nil {
		t.Fatal(err)
	}
	local := bridges.Local{Shell: bridges.FindShell(""), Env: append([]string{"PATH=" + dir}, env...)}
	w.Programs, w.Terminal = &bridges.LocalPrograms{Children: children, Local: local}, &bridges.LocalTerminal{Children: children, Local: local}
	return w
}

func TestSSH(t *testing.T) {
	w := sshWorld(t)
	options := "-T\n-n\n-a\n-x\n-o\nBatchMode=yes\n-o\nClearAllForwardings=yes\n-o\nPermitLocalCommand=no\n-o\nConnectTimeout=15\n" +
		"-o\nControlMaster=auto\n-o\nControlPersist=600\n-o\nControlPath=SOCKET\n-o\nServerAliveInterval=15\n-o\nServerAliveCountMax=3\n"
	socket := regexp.MustCompile(`ControlPath=(/\S+)`)
	check := func(res *agent.Result, want string) (path string) {
		t.Helper()
		m := socket.FindStringSubmatch(res.Text)
		if m == nil || len(m[1]) > 87 || strings.Replace(res.Text, m[1], "SOCKET", 1) != options+want || res.IsError {
			t.Fatalf("%q", res.Text)
		}
		return m[1]
	}
	web := check(toolstest.Run(t, w, "ssh", toolstest.Input{"host": "web", "command": "uptime"}), "-p\n2222\n-l\ndeploy\n-i\n/keys/id\n--\nweb.example\nuptime")
	db := check(toolstest.Run(t, w, "ssh", toolstest.Input{"host": "db", "command": "ls -l", "cwd": "/srv/a b"}), "--\ndb.example\ncd -- '/srv/a b' || exit\nls -l")
	again := check(toolstest.Run(t, w, "ssh", toolstest.Input{"host": "web", "command": "id"}), "-p\n2222\n-l\ndeploy\n-i\n/keys/id\n--\nweb.example\nid")
	if web == db || web != again {
		t.Errorf("the sockets are %s, %s and %s", web, db, again)
	}
	if res := toolstest.Run(t, w, "ssh", toolstest.Input{"host": "db", "command": "fail"}); !res.IsError || !strings.HasSuffix(res.Text, "\n\nCommand exited with code 3") {
		t.Errorf("%q", res.Text)
	}
	if res := toolstest.Run(t, w, "ssh", toolstest.Input{"host": "db", "command": "refuse"}); !res.IsError || !strings.Contains(res.Text, "Permission denied (publickey).") || !strings.Contains(res.Text, "Exit code 255 is from ssh itself: it could not reach db") {
		t.Errorf("%q", res.Text)
	}
	if res := toolstest.Run(t, w, "ssh", toolstest.Input{"host": "db", "command": "hang", "timeout": 0.1}); !res.IsError || !strings.Contains(res.Text, "The timeout was set to 1 second;") || !strings.HasSuffix(res.Text, "Command timed out after 1 second") {
		t.Errorf("%q", res.Text)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	call := w.Call(t, "ssh", toolstest.Input{"host": "db", "command": "hang"})
	call.Update = func(agent.Progress) { cancel(errors.New("the user")) }
	if _, res, err := toolstest.Do(ctx, toolstest.Tool(t, "ssh"), call); err != nil || !strings.HasSuffix(res.Text, "Command cancelled") {
		t.Errorf("%v %+v", err, res)
	}
}

func TestSSHHost_Check(t *testing.T) {
	for _, h := range []shell.SSHHost{
		{},
		{Name: "a"},
		{Name: "-a", Address: "b"},
		{Name: "a", Address: "-b"},
		{Name: "a", Address: "b c"},
		{Name: "a\nb", Address: "b"},
		{Name: "a", Address: "b", User: "-x"},
		{Name: "a", Address: "b", User: "x@y"},
		{Name: "a", Address: "b", Port: -1},
	} {
		if part, why := h.Check(); part == "" || why == "" {
			t.Errorf("%+v: %q, %q", h, part, why)
		}
	}
	h := shell.SSHHost{Name: "a", Address: "::1", User: "b", Port: 22}
	if part, why := h.Check(); part != "" {
		t.Error(part, why)
	}
}
