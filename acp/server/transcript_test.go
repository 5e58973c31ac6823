package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/sessions"
)

// Each transcript in testdata/transcripts is a conversation on the wire. Its sections alternate: "client" has the lines that an
// editor sends, "agent" all lines that come back until the server is idle. Values that differ between runs are replaced: $CWD is
// the workspace, $SESSION the first session's ID, $ID1 and so on other IDs, $TIME a time, $N a number of tokens. The text at the
// beginning says why the transcript exists, and with "Checkpoints are on." that the state of the files is recorded, with "Worktrees are on."
// that the workspace is a git repository and helpers can have worktrees ($TREE), and with "Turns begin by themselves." that turns.auto is on.
// "go test ./acp/server -run Transcripts -update" rewrites the agent's sections.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(archive.Comment), "Worktrees are on.") {
				testenv.NeedsTool(t, "git")
			}
			synctest.Test(t, func(t *testing.T) { play(t, archive, dir) })
			if testenv.Update() {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs one transcript in a synctest bubble.
func play(t *testing.T, archive *txtar.Archive, dir string) {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "work/"); ok {
			path := filepath.Join(work, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	ids := 0
	a, b := net.Pipe()
	done := make(chan error, 1)
	var checkpoints func(string) *checkpoint.Options
	if strings.Contains(string(archive.Comment), "Checkpoints are on.") {
		checkpoints = func(string) *checkpoint.Options {
			return &checkpoint.Options{Dir: filepath.Join(dir, "agent", "checkpoints")}
		}
	}
	local := machine(bridges.Local{Shell: bridges.Shell{Path: "/bin/sh", Args: []string{"-c"}}, Env: []string{"PATH=/usr/bin:/bin"}})
	if strings.Contains(string(archive.Comment), "Worktrees are on.") {
		env := gitEnv(append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1"))
		env.run(t, work, "init", "-q", "-b", "main")
		env.run(t, work, "add", "-A")
		env.run(t, work, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "first")
		local.Worktrees = func(children *proc.Group) (*worktree.Maker, error) {
			return &worktree.Maker{Git: &worktree.Git{Children: children, Env: env}, Dir: filepath.Join(dir, "state", "worktrees")}, nil
		}
	}
	settings := &server.Settings{Agent: agent.DefaultSettings()}
	if strings.Contains(string(archive.Comment), "Turns begin by themselves.") {
		settings.Turns.Auto = wake.On
	}
	go func() {
		done <- server.Serve(context.Background(), b, b, b, server.Options{
			Version: "1.2.3", NewID: func() string { ids++; return fmt.Sprintf("msg-%d", ids) }, OS: "linux",
			Models: server.ModelOptions{Models: &models{list: []providers.Model{offline.New()}}},
			Sessions: server.SessionOptions{
				Store: sessions.NewStore(filepath.Join(dir, "agent", "sessions"), nil),
				Tools: func() []agent.Tool { return tools.All(new(tools.Settings)) }, Checkpoints: checkpoints,
				Settings: func(string) (*server.Settings, error) { return settings, nil },
			},
			Machine: local,
		})
	}()
	lines := make(chan string, 10_000)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(a)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			lines <- s.Text()
		}
	}()
	n := newNames(work)
	for i := range archive.Files {
		f := &archive.Files[i]
		switch {
		case f.Name == "client":
			for line := range strings.Lines(string(f.Data)) {
				if _, err := io.WriteString(a, n.restore(line)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		case f.Name == "agent":
			synctest.Wait()
			var said []string
		drain:
			for {
				select {
				case line := <-lines:
					said = joinChunk(said, n.replace(line))
				default:
					break drain
				}
			}
			got := strings.Join(append(said, ""), "\n")
			if testenv.Update() {
				f.Data = []byte(got)
			} else if diff := cmp.Diff(strings.Split(string(f.Data), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("section %d (-want +got):\n%s", i+1, diff)
			}
		case strings.HasPrefix(f.Name, "sleep "):
			d, err := time.ParseDuration(strings.TrimPrefix(f.Name, "sleep "))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d) // fake time
		}
	}
	_ = a.Close()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	for range lines {
	}
}

// chunkPattern matches a piece of text of a message.
var chunkPattern = regexp.MustCompile(`^(\{"jsonrpc":"2.0","method":"session/update","params":\{"sessionId":"[^"]*","update":\{"sessionUpdate":"agent_(?:message|thought)_chunk","content":\{"type":"text","text":")(.*)("\},"messageId":"[^"]*"\}\}\})$`)

// joinChunk appends a line, and joins the pieces of one message, because the reader's speed determines how a text is split.
func joinChunk(lines []string, line string) []string {
	m := chunkPattern.FindStringSubmatch(line)
	if m == nil || len(lines) == 0 {
		return append(lines, line)
	}
	last := chunkPattern.FindStringSubmatch(lines[len(lines)-1])
	if last == nil || last[1] != m[1] || last[3] != m[3] {
		return append(lines, line)
	}
	lines[len(lines)-1] = m[1] + last[2] + m[2] + m[3]
	return lines
}

// names assigns names to values that differ between runs, in the order of their first use.
type names struct {
	work  string
	known map[string]string
	order []string
	uuids int
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	treePattern = regexp.MustCompile(`/[^"\s]*?/worktrees/[0-9a-f]{8}/tree/work`)
	demoPattern = regexp.MustCompile(`demo_[0-9a-z]+_`)
	// The prompt contains the path of the workspace.
	usedPattern = regexp.MustCompile(`"(used|totalTokens|inputTokens)":\d+`)
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
)

func newNames(work string) *names {
	return &names{work: work, known: make(map[string]string)}
}

func (n *names) name(value, name string) string {
	if known, ok := n.known[value]; ok {
		return known
	}
	n.known[value] = name
	n.order = append(n.order, value)
	return name
}

func (n *names) replace(line string) string {
	line = strings.ReplaceAll(line, n.work, "$CWD")
	line = treePattern.ReplaceAllString(line, "$$TREE")
	line = timePattern.ReplaceAllString(line, "$$TIME")
	line = usedPattern.ReplaceAllString(line, `"$1":$$N`)
	line = demoPattern.ReplaceAllString(line, "call_")
	return uuidPattern.ReplaceAllStringFunc(line, func(id string) string {
		if _, ok := n.known[id]; !ok {
			n.uuids++
		}
		if n.uuids == 1 {
			return n.name(id, "$SESSION")
		}
		return n.name(id, fmt.Sprintf("$ID%d", n.uuids-1))
	})
}

func (n *names) restore(line string) string {
	for _, value := range n.order {
		line = strings.ReplaceAll(line, n.known[value], value)
	}
	return strings.ReplaceAll(line, "$CWD", n.work)
}
