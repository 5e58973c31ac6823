package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

var gjc = flag.String("gjc", "", "measure this gjc instead of building one")

// buildDir is the directory of the binary that [binary] builds.
var buildDir string

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		if err := serveMCP(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if err := os.RemoveAll(buildDir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

// binary returns the gjc to measure, as it is released.
var binary = sync.OnceValues(func() (path string, err error) {
	if *gjc != "" {
		return filepath.Abs(*gjc)
	}
	if buildDir, err = os.MkdirTemp("", "gjc-bench-"); err != nil {
		return "", err
	}
	path = filepath.Join(buildDir, "gjc")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/gajae-code/gjc/cmd/gjc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building gjc: %w\n%s", err, out)
	}
	return path, nil
})

// check ends the benchmark on an error.
func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// metrics collects the values of all rounds by metric.
type metrics struct {
	b   *testing.B
	all map[string][]float64
}

// newMetrics returns an empty collection. At the end of the benchmark it reports the median of each metric.
func newMetrics(b *testing.B) *metrics {
	m := &metrics{b: b, all: make(map[string][]float64)}
	b.Cleanup(func() {
		b.ReportMetric(0, "ns/op") // the sum of all steps is meaningless
		for name, values := range m.all {
			slices.Sort(values)
			b.ReportMetric(values[len(values)/2], name)
		}
	})
	return m
}

func (m *metrics) add(name string, value float64) { m.all[name] = append(m.all[name], value) }

// took adds the duration of a step.
func (m *metrics) took(step string, d time.Duration) { m.add(step+"-ms", d.Seconds()*1000) }

// memory adds the memory in use after a step.
func (m *metrics) memory(step string, use memoryUse) {
	if use != (memoryUse{}) {
		m.add(step+"-MB", use.pss)
		m.add(step+"-anonymous-MB", use.anonymous)
	}
}

// agent is a running gjc.
type agent struct {
	*acptest.Agent
	b    *testing.B
	work string
}

// options holds a benchmark's editor, model and environment. Without a model, gjc uses the offline model.
type options struct {
	acptest.EditorOptions
	model string
	env   []string
}

// start starts gjc with its files in dir, and initializes it. The caller ends it.
func start(b *testing.B, dir string, opts options) *agent {
	b.Helper()
	a := &agent{b: b, work: filepath.Join(dir, "work")}
	check(b, os.MkdirAll(a.work, 0o755))
	path, err := binary()
	check(b, err)
	if opts.model == "" {
		opts.model = "offline/demo"
	}
	env := proc.Environ(os.Environ(), append(opts.env, "GJC_CODING_AGENT_DIR="+filepath.Join(dir, "agent"))...)
	a.Agent, err = acptest.Start(b.Context(), acptest.ProcessOptions{
		Path: path, Args: []string{"acp", "--model", opts.model}, Dir: a.work, Env: env,
	}, opts.EditorOptions)
	check(b, err)
	_, err = a.Initialize(b.Context())
	a.check(err)
	return a
}

// end kills gjc.
func (a *agent) end() {
	a.Process.Kill()
	_ = a.Close() // the measurement is over
}

// check ends the benchmark on an error, and shows gjc's stderr.
func (a *agent) check(err error) {
	a.b.Helper()
	if err != nil {
		text := a.Process.Stderr()
		a.end()
		a.b.Fatalf("%v\n%s", err, text)
	}
}

// open opens a session in a.work.
func (a *agent) open() acp.SessionID {
	a.b.Helper()
	s, err := a.NewSession(a.b.Context(), a.work)
	a.check(err)
	return s.SessionID
}

// prompt measures a turn.
func (a *agent) prompt(id acp.SessionID, text string) time.Duration {
	a.b.Helper()
	begin := time.Now()
	_, err := a.Prompt(a.b.Context(), id, text)
	a.check(err)
	return time.Since(begin)
}

// memory returns the memory in use.
func (a *agent) memory() memoryUse { return memory(a.Process.PID()) }

// memoryUse holds a process's proportional set size and its share of anonymous pages, in MB. Both are 0 if the system
// does not report them.
type memoryUse struct{ pss, anonymous float64 }

func memory(pid int) (m memoryUse) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return m
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) != 3 {
			continue
		}
		kb, _ := strconv.ParseFloat(fields[1], 64) // the line of the address range has no number
		switch fields[0] {
		case "Pss:":
			m.pss = kb / 1024
		case "Pss_Anon:":
			m.anonymous = kb / 1024
		}
	}
	return m
}

// onChunk returns a handler of updates that sends the time on chunk when text of the model arrives. chunk has a buffer of one.
func onChunk(chunk chan<- time.Time) func(*acp.SessionNotification) {
	return func(n *acp.SessionNotification) {
		if _, ok := n.Update.(*acp.AgentMessageChunk); ok {
			select {
			case chunk <- time.Now():
			default:
			}
		}
	}
}

// link returns a directory with a link to a program, to put first on PATH.
func link(b *testing.B, path, name string) string {
	b.Helper()
	dir := b.TempDir()
	check(b, os.Symlink(path, filepath.Join(dir, name)))
	return dir
}

// output runs a program in dir.
func output(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), testenv.NeedsTool(b, name), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
}
