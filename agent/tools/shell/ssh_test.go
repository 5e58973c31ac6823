package shell_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// fakeSSHName is the name under which the test binary is a fake ssh.
const fakeSSHName = "ssh"

// becomeSSH, if set, replaces this process by the real ssh if the environment requests it.
var becomeSSH func(args []string)

// runFakeSSH prints its arguments, and does what the command says.
func runFakeSSH(args []string) int {
	if becomeSSH != nil {
		becomeSSH(args)
	}
	for _, a := range args {
		fmt.Println(a)
	}
	switch args[len(args)-1] {
	case "hang":
		select {}
	case "refuse":
		fmt.Fprintln(os.Stderr, "Permission denied (publickey).")
		return 255
	case "fail":
		return 3
	}
	return 0
}

func TestSSH_Plan(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	p := toolstest.MustPlan(t, w, "ssh", toolstest.Input{"host": "web", "command": "ls\nrm 'x'", "cwd": "~/it's"})
	line := "cd -- ~/'it'\\''s' || exit\nls\nrm 'x'"
	title := "On web: ls…"
	toolstest.Same(t, "plan", p, &agent.CallPlan{
		Title: title, Content: []agent.Content{agent.TextContent{Text: "on web (deploy@web.example:2222)\n$ " + line}},
		Effects: []approval.Effect{{Action: approval.ActionCommand, Command: "exec 'ssh' 'web' '" + strings.ReplaceAll(line, "'", `'\''`) + "'", Title: title}},
	})
	for in, want := range map[string]string{
		`{}`:                                                             "host, command missing",
		`{"host": null, "command": "x"}`:                                 "host missing",
		`{"host": "web", "command": 7}`:                                  "/command",
		`{"host": "web", "command": " "}`:                                "command is empty",
		`{"host": "web.example", "command": "x"}`:                        `unknown host "web.example"; the hosts are web, db`,
		`{"host": "-oProxyCommand=x", "command": "x"}`:                   "unknown host",
		`{"host": "web", "command": "x\u0000"}`:                          "NUL byte",
		`{"host": "web", "command": "x", "cwd": "a\nb"}`:                 "line break",
		`{"host": "web", "command": "x", "port": 3}`:                     "port",
		`{"host": "` + strings.Repeat("x", 1<<20) + `", "command": "x"}`: "unknown host",
	} {
		_, err := toolstest.Plan(t.Context(), toolstest.Tool(t, "ssh"), w.Call(t, "ssh", in))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 4000 {
			t.Errorf("%.80s: %v", in, err)
		}
	}
}
