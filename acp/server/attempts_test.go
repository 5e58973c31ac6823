package server_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// flagAttempts sets the number of random runs of /attempts to try.
var flagAttempts = flag.Int("attempts", 15, "how many random runs of /attempts to try")

// contestants are models m0, m1 … whose helpers do what the test says.
type contestants struct {
	mu sync.Mutex
	// does says what the next helper of each model does: "good 3", "bad 1", "nothing", "fails" or "asks". The number is that of additional lines.
	does []string
	// working counts the helpers at work, and most is their highest number.
	working, most int
}

// model returns the script of a model.
func (c *contestants) model(i int) providers.Model {
	script := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: fmt.Sprintf("m%d", i), ContextWindow: 100_000})
	script.Else(func(req *providers.Request) providertest.Step {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.does) == 0 {
			return says("top")
		}
		if len(req.Messages) > 1 {
			c.working--
			return says(fmt.Sprintf("m%d has done it", i))
		}
		c.working++
		c.most = max(c.most, c.working)
		what, lines, _ := strings.Cut(c.does[i], " ")
		n := 0
		_, _ = fmt.Sscan(lines, &n) // none is zero
		switch what {
		case "nothing":
			c.working--
			return says("nothing to do")
		case "fails":
			c.working--
			return providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "broken"})}
		}
		return write("answer.txt", what+"\n"+strings.Repeat(fmt.Sprintf("m%d\n", i), n))
	})
	return script
}

// startContest starts a server with the models m0 to m(n-1), a check, and a session with a repository.
func startContest(t *testing.T, n int, change ...func(*config)) (*apart, *contestants) {
	t.Helper()
	return startContestWith(t, n, "grep -q ^good answer.txt", change...)
}

// startContestWith starts a server with another check, or with none.
func startContestWith(t *testing.T, n int, check string, change ...func(*config)) (*apart, *contestants) {
	t.Helper()
	c := new(contestants)
	a := startApart(t, append(change, func(cfg *config) {
		all := &models{}
		for i := range n {
			all.list = append(all.list, c.model(i))
		}
		cfg.server.Models.Models = all
		cfg.server.Sessions.Settings = func(string) (*server.Settings, error) {
			set := &server.Settings{Agent: agent.DefaultSettings()}
			set.Agent.Tasks.Check = check
			set.HelperModel = func(h *agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error) {
				if len(h.Models) == 0 {
					return providers.ModelInfo{}, "", nil
				}
				return all.Find(h.Models[0])
			}
			return set, nil
		}
	})...)
	return a, c
}

// titleOf returns the title of a question.
func titleOf(p *acp.RequestPermissionRequest) string {
	title, _ := p.ToolCall.Title.Get()
	return title
}

// TestAttempts_Random runs attempts with models that do good and bad work, nothing, or fail. Until the user accepts the winner, the files of
// the user stay as they are; then they pass the command, and are those of the smallest change that does.
func TestAttempts_Random(t *testing.T) {
	const n = 4
	r := rand.New(rand.NewPCG(1, uint64(*flagAttempts)))
	var mu sync.Mutex
	var before map[string]string // what the user has while the attempts are made
	accept, asked := true, 0
	var a *apart
	a, c := startContest(t, n, func(cfg *config) {
		cfg.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			if !strings.HasPrefix(titleOf(p), "Merge the changes") { // in a worktree
				return acptest.Choose("allow_once"), nil
			}
			asked++
			if diff := cmp.Diff(before, a.files()); diff != "" {
				t.Errorf("the files have changed before the question (-before +now):\n%s", diff)
			}
			if accept {
				return acptest.Choose("allow_once"), nil
			}
			return acptest.Choose("reject_once"), nil
		}
	})
	id := a.session()
	call[acp.SetSessionModeResponse](a.env, "session/set_mode", obj{"sessionId": id, "modeId": "strict"}) // the merge is asked about
	kinds := []string{"good 0", "good 1", "good 5", "good 20", "bad 0", "bad 3", "nothing", "fails"}
	numbers := 0
	for run := range *flagAttempts {
		count := 2 + r.IntN(n-1)
		c.mu.Lock()
		c.does = nil
		for range n {
			c.does = append(c.does, kinds[r.IntN(len(kinds))])
		}
		does := fmt.Sprint(c.does[:count])
		c.mu.Unlock()
		a.write("answer.txt", fmt.Sprintf("start %d\n", run))
		mu.Lock()
		before, accept, asked = a.files(), r.IntN(4) > 0, 0
		mu.Unlock()
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("test/m%d", i))
		}
		got, _ := a.after(id, fmt.Sprintf("/attempts %d %s -- write the answer", count, strings.Join(names, " ")))
		want, winner := wantAnswer(c.does[:count])
		context := fmt.Sprintf("run %d, %s, accepted %t: %s", run, does, accept, got)
		after := a.files()
		switch {
		case winner < 0 || !accept:
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s\nthe files have changed (-before +after):\n%s", context, diff)
			}
		case after["answer.txt"] != want:
			t.Errorf("%s\nthe answer is %q, want %q", context, after["answer.txt"], want)
		}
		if wins := winner >= 0; (asked == 1) != wins {
			t.Errorf("%s\n%d questions", context, asked)
		}
		if wins := winner >= 0; wins != strings.Contains(got, fmt.Sprintf("The winner is attempt %d", numbers+winner+1)) {
			t.Errorf("%s\nthe winner is %d", context, numbers+winner+1)
		}
		numbers += count
	}
	if got := strings.Count(a.git("branch", "--list", "gjc/*"), "\n"); got != 0 {
		t.Errorf("%d branches", got)
	}
	call[acp.CloseSessionResponse](a.env, "session/close", obj{"sessionId": id})
	if left := a.left(); len(left) > 0 {
		t.Errorf("left worktrees: %q", left)
	}
	if got := a.git("branch", "--list", "gjc/*"); got != "" {
		t.Errorf("branches: %s", got)
	}
}

// wantAnswer returns the answer of the winner and its index, or -1.
func wantAnswer(does []string) (string, int) {
	best, winner := 0, -1
	for i, d := range does {
		n := 0
		if what, lines, _ := strings.Cut(d, " "); what != "good" {
			continue
		} else if _, err := fmt.Sscan(lines, &n); err != nil {
			panic(err)
		}
		if winner < 0 || n < best {
			best, winner = n, i
		}
	}
	return "good\n" + strings.Repeat(fmt.Sprintf("m%d\n", winner), best), winner
}

// TestAttempts has the life of some attempts: the list, their documents, and the merge of another one than the winner.
func TestAttempts(t *testing.T) {
	a, c := startContest(t, 3)
	a.write("answer.txt", "start\n")
	id := a.session()
	if got, _ := a.after(id, "/attempts"); !strings.Contains(got, "no attempts in this session") {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{"2", "1 -- x", "2 --", "merge 1", "merge x", "2 a b c -- x"} {
		if got, _ := a.after(id, "/attempts "+bad); !strings.Contains(got, "/attempts:") || len(a.left()) > 0 {
			t.Errorf("%s: %s", bad, got)
		}
	}
	c.mu.Lock()
	c.does = []string{"good 3", "bad 0", "good 9"}
	c.mu.Unlock()
	got, _ := a.after(id, "/attempts 3 test/m0 test/m1 test/m2 -- write the answer")
	if !containsAll(got, "| `attempt://1` | test/m0 | passed, 1 file, 5 lines |", "| `attempt://2` | test/m1 | did not pass, 1 file", "Judged by `grep -q ^good answer.txt`", "The winner is attempt 1", "m0 has done it") {
		t.Errorf("%s", got)
	}
	if data, err := os.ReadFile(filepath.Join(a.dir, "answer.txt")); err != nil || string(data) != "good\nm0\nm0\nm0\n" {
		t.Errorf("the answer is %q, %v", data, err)
	}
	// The others stay readable, and can be merged.
	c.mu.Lock()
	c.does = nil
	c.mu.Unlock()
	if got, _ := a.after(id, "/attempts"); !containsAll(got, "attempt://3", "/attempts merge K") {
		t.Errorf("%s", got)
	}
	if got, _ := a.after(id, "/attempts merge 3"); !strings.Contains(got, "answer.txt") || !strings.Contains(got, "conflict") {
		t.Errorf("merging another one gives conflicts: %s", got)
	}
	if got, _ := a.after(id, "/attempts merge 1"); !strings.Contains(got, "/attempts:") {
		t.Errorf("merging the winner again: %s", got)
	}
}

// Attempts wait until there is a processor for them.
func TestAttempts_Queue(t *testing.T) {
	a, c := startContest(t, 1)
	c.does = []string{"good 1"}
	count := min(10, 2*runtime.NumCPU()+2)
	got, _ := a.after(a.session(), fmt.Sprintf("/attempts %d test/m0 -- write the answer", count))
	if !strings.Contains(got, "The winner is attempt 1.") || c.most < 1 || c.most > runtime.NumCPU() {
		t.Errorf("%d helpers at once: %s", c.most, got)
	}
}

// Without a setting the command is that of the project. A project without one is judged by the size of the change.
func TestAttempts_FoundCheck(t *testing.T) {
	for makefile, want := range map[string]string{"test:\n\tgrep -q ^good answer.txt\n": "Judged by `make test`", "": "No command was found"} {
		a, c := startContestWith(t, 2, "")
		if makefile != "" {
			testenv.NeedsTool(t, "make")
			a.write("Makefile", makefile)
		}
		a.write("answer.txt", "start\n")
		c.does = []string{"bad 0", "good 3"}
		got, _ := a.after(a.session(), "/attempts 2 test/m0 test/m1 -- write the answer")
		winner := "The winner is attempt 2"
		if makefile == "" {
			winner = "The winner is attempt 1"
		}
		if !containsAll(got, want, winner) {
			t.Errorf("with %q: %s", makefile, got)
		}
	}
}
