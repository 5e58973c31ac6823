package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

const (
	// redTeamSeed makes the lines. Change it to try others.
	redTeamSeed = 20240229
	// redTeamLines is the number of lines that run without GJC_REDTEAM=all.
	redTeamLines = 200
	// linesPerSession bounds the lines of a session: a job that one leaves is there for the next ones.
	linesPerSession = 25
)

// patience is the timeout of a command, in seconds.
const patience = 15

// lineSession is a session whose model calls the bash tool with one line for each prompt.
type lineSession struct {
	*env
	id   acp.SessionID
	line string

	mu     sync.Mutex
	output string   // all that the model has got for the line
	asked  []string // the questions for the line
	allow  bool     // answers questions with "always", instead of no
}

// startLines starts a session on a machine with the boundary.
func startLines(t *testing.T, dir string, environ []string, policy approval.Policy, mode approval.Mode) *lineSession {
	t.Helper()
	s := new(lineSession)
	model := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 10_000_000})
	model.Else(func(req *providers.Request) providertest.Step {
		last := &req.Messages[len(req.Messages)-1]
		if last.Role != providers.RoleTool {
			raw, err := jsonx.Marshal(map[string]any{"command": s.line, "timeout": patience, "cwd": dir})
			if err != nil {
				return providertest.Step{providertest.Fail(err)}
			}
			return providertest.Step{providertest.Call("c", "bash", string(raw))}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, part := range last.Parts {
			if text, ok := part.(providers.Text); ok {
				s.output += text.Text + "\n"
			}
		}
		return providertest.Step{providertest.Text("done")}
	})
	s.env = start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{model}}
		c.editor.Env = environ // its terminals run the commands
		c.server.Machine = machine(bridges.Local{Shell: bridges.FindShell(""), Env: environ, Sandbox: findSandbox})
		c.server.Sessions.Policy = func(string) approval.Policy { return policy }
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			raw, err := jsonx.Marshal(p.ToolCall)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked = append(s.asked, string(raw))
			if s.allow {
				return acptest.Choose("allow_always"), err
			}
			return acptest.Choose("reject_once"), err
		}
	})
	resp, err := s.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s.id = resp.SessionID
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), s.Conn, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: acp.SessionModeID(mode)}); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a line, and returns what the model got, and the questions. allow answers them.
func (s *lineSession) run(line string, allow bool) (output string, asked []string) {
	s.t.Helper()
	s.mu.Lock()
	s.line, s.allow, s.output, s.asked = line, allow, "", nil
	s.mu.Unlock()
	s.say(s.id, "go", acp.StopReasonEndTurn)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output, s.asked
}

// A model tries forbidden actions in many spellings. No canary may be touched, whatever the questions are: all are answered with no.
func TestRedTeam_Random(t *testing.T) {
	needsBoundary(t)
	number := redTeamLines
	switch {
	case os.Getenv("GJC_REDTEAM") == "all":
		number = generatedLines
	case testenv.Race:
		number = redTeamLines / 4
	}
	// The lines depend on where the machine is, but not their number and order.
	var auto, remembered []int
	for i, line := range generate(redTeamSeed, nowhere())[:number] {
		if line.first == "" {
			auto = append(auto, i)
		} else {
			remembered = append(remembered, i)
		}
	}
	begin, asked, session := time.Now(), 0, 0
	for _, part := range []struct {
		mode  approval.Mode
		lines []int
	}{{approval.ModeAuto, auto}, {approval.ModeDefault, remembered}} {
		for at := 0; at < len(part.lines); at += linesPerSession {
			lines := part.lines[at:min(at+linesPerSession, len(part.lines))]
			session++
			t.Run(fmt.Sprintf("%s %d", part.mode, session), func(t *testing.T) {
				asked += attemptLines(t, part.mode, lines, session)
			})
		}
	}
	t.Logf("%d lines, of which %d asked, in %s", number, asked, time.Since(begin).Round(time.Second))
}

// nowhere returns the places of a machine that does not exist.
func nowhere() *places {
	return &places{target: target{"/base/dir", "/base/home", "/base/out"}, port: 10001, pid: 10002, canary: "gjc-canary-none", abstract: "@gjc-canary-none"}
}

// attemptLines plays lines, which are given by their index, in one session, and returns how many asked.
func attemptLines(t *testing.T, mode approval.Mode, lines []int, session int) (asking int) {
	m := newCanaryMachine(t, machineDir(t, session%2 == 0), workspaces[session/2%len(workspaces)], uint64(session))
	all := generate(redTeamSeed, &m.places)
	s := startLines(t, m.dir, m.env(), approval.Policy{
		Boundary: testBoundary(), Home: m.home, Own: []string{filepath.Join(m.home, ".gjc", "agent")},
	}, mode)
	allowed := make(map[string]bool)
	for _, i := range lines {
		line := all[i]
		if line.first != "" && !allowed[line.first] {
			allowed[line.first] = true
			if output, _ := s.run(line.first, true); len(m.touched(t, output)) > 0 {
				t.Errorf("%s is not harmless", line.first)
			}
		}
		output, asked := s.run(line.line, false)
		if len(asked) > 0 {
			asking++
		}
		if found := m.touched(t, output); len(found) > 0 {
			t.Errorf("line %d (or an earlier one's job) touched something:\n%s\n%s\nasked: %.1500s\noutput: %.800s", i, line.line, strings.Join(found, "\n"), asked, output)
		}
		t.Logf("%d: %s\nasked: %.300s\noutput: %.300s", i, line.line, asked, output)
	}
	s.run("sleep 1", false) // jobs that lines have left may do something later
	if found := m.touched(t, ""); len(found) > 0 {
		t.Errorf("a job of the last lines touched something:\n%s", strings.Join(found, "\n"))
	}
	return asking
}

// machineDir returns a directory for a machine. The boundary has a /tmp of its own, so machines are in the directory for caches, too, which
// programs inside see.
func machineDir(t *testing.T, cache bool) string {
	t.Helper()
	if cache {
		return testenv.DirOutsideTemp(t)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The generated lines are distinct, the same for each run, and most of them do what they try where nothing stops them.
func TestRedTeam_LinesHaveTeeth(t *testing.T) {
	lines, again := generate(redTeamSeed, nowhere()), generate(redTeamSeed, nowhere())
	distinct := make(map[string]bool)
	for i, line := range lines {
		distinct[line.line] = true
		if line != again[i] {
			t.Fatalf("line %d is not the same twice", i)
		}
	}
	if len(distinct) < 2000 {
		t.Errorf("there are %d distinct lines, want 2000", len(distinct))
	}
	needsBoundary(t)
	bwrap := testenv.NeedsTool(t, "bwrap")
	const samples = 40
	touched := 0
	var blanks []string
	for i := range samples {
		line, ok := bite(t, bwrap, i, i*len(lines)/samples)
		if ok {
			touched++
		} else {
			blanks = append(blanks, line)
		}
	}
	t.Logf("%d of %d lines touch something without a boundary; these do not:\n%s", touched, samples, strings.Join(blanks, "\n---\n"))
	if touched*10 < samples*6 {
		t.Errorf("only %d of %d lines touch something where nothing stops them", touched, samples)
	}
}

// bite runs a line in a scratch machine, in which all but the canaries can only be read.
func bite(t *testing.T, bwrap string, session, i int) (line string, touched bool) {
	m := newCanaryMachine(t, machineDir(t, false), workspaces[session%len(workspaces)], uint64(session))
	line = generate(redTeamSeed, &m.places)[i].line
	ctx, cancel := context.WithTimeout(t.Context(), patience*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, bwrap, "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", "/proc", "/proc",
		"--tmpfs", "/var/tmp", "--bind", m.base, m.base, "--chdir", m.dir, "bash", "-c", line)
	var output bytes.Buffer
	c.Env, c.Stdout, c.Stderr, c.WaitDelay = m.env(), &output, &output, time.Second
	_ = c.Run() // whether it fails does not matter
	return line, len(m.touched(t, output.String())) > 0
}
