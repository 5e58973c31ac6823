package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// probeTime bounds one question to a program.
	probeTime = 3 * time.Second
	// probeAge is how long an answer counts; a no counts for noAge, as the user may do something about it.
	probeAge, noAge = 10 * time.Minute, 20 * time.Second
	// probeBytes is how much of an answer is looked at.
	probeBytes = 64 << 10
)

// leastGDB is the first version that speaks the protocol.
const leastGDB = 14

var errProbe = errors.New("it did not answer within 3 seconds")

// prober asks programs what they are and keeps the answers. It belongs to the holder of the catalog's turn.
type prober struct {
	children *proc.Group
	known    map[string]answer
}

// answer is what a program said, or why it did not.
type answer struct {
	text string
	why  string
	when time.Time
}

// ask runs a program and returns what it prints. It runs in the program's own directory: that of a project could have files
// which the program would load.
func (p *prober) ask(ctx context.Context, path string, args, env []string) answer {
	info, err := os.Stat(path)
	if err != nil {
		return answer{why: err.Error()}
	}
	key := strings.Join([]string{path, info.ModTime().String(), strings.Join(args, "\x00"), lastPart(env)}, "\x00")
	if known, ok := p.known[key]; ok {
		age := probeAge
		if known.why != "" {
			age = noAge
		}
		if time.Since(known.when) < age {
			return known
		}
	}
	a := p.run(ctx, path, args, env)
	if ctx.Err() == nil { // half an answer is not kept
		a.when = time.Now()
		p.known[key] = a
	}
	return a
}

// lastPart is what is added to the environment for a probe.
func lastPart(env []string) string {
	if len(env) == 0 {
		return ""
	}
	return env[len(env)-1]
}

func (p *prober) run(ctx context.Context, path string, args, env []string) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, errProbe)
	defer cancel()
	start := proc.Start
	if p.children != nil {
		start = p.children.Start
	}
	out := &head{}
	child, err := start(ctx, &proc.Options{Path: path, Args: args, Env: proc.Environ(env), Dir: filepath.Dir(path), Stdout: out, Mark: proc.NewMark()})
	if err != nil {
		return answer{why: err.Error()}
	}
	if _, err = child.Wait(ctx); err != nil {
		child.Kill()
		<-child.Done()
		return answer{why: err.Error()}
	}
	if err := child.Err(); err != nil {
		said := strings.TrimSpace(child.Stderr().String())
		if _, last, ok := cutLast(said, "\n"); ok {
			said = last
		}
		if said == "" {
			said = err.Error()
		}
		return answer{text: string(out.text), why: said}
	}
	return answer{text: string(out.text)}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// head keeps the beginning of what is written.
type head struct{ text []byte }

func (h *head) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), probeBytes-len(h.text))]...)
	return len(b), nil
}

var gdbVersion = regexp.MustCompile(`(\d+)\.\d[\d.]*(?:[-\w.]*)\s*$`)

// gdb returns why a gdb can not be used, or "".
func (p *prober) gdb(ctx context.Context, path string, env []string) (why string) {
	a := p.ask(ctx, path, []string{"-nx", "-batch", "-ex", "show version", "-ex", `python print("has Python")`}, env)
	first := text.FirstLine(a.text)
	m := gdbVersion.FindStringSubmatch(first)
	switch {
	case m == nil && a.why != "":
		return fmt.Sprintf("%s did not tell its version: %s", path, a.why)
	case m == nil:
		return fmt.Sprintf("%s did not tell its version; gdb %d or newer is needed", path, leastGDB)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < leastGDB {
		return fmt.Sprintf("%s is version %s, and the Debug Adapter Protocol needs gdb %d or newer", path, strings.TrimSpace(m[0]), leastGDB)
	}
	if !strings.Contains(a.text, "has Python") {
		return path + " was built without Python, which the Debug Adapter Protocol needs"
	}
	return ""
}

// hasDebugpy prints the interpreter, as what PATH has may be a shim that chooses one by the directory.
const hasDebugpy = "import sys, debugpy; print(sys.executable)"

// debugpy returns the interpreter behind path that has debugpy, or why there is none. A shim of pyenv chooses for root.
func (p *prober) debugpy(ctx context.Context, path, root string, env []string) (program, why string) {
	a := p.ask(ctx, path, []string{"-c", hasDebugpy}, append(env[:len(env):len(env)], "PYENV_DIR="+root))
	if a.why != "" {
		return "", fmt.Sprintf("%s can not import debugpy: %s", path, a.why)
	}
	if program = strings.TrimSpace(a.text); !filepath.IsAbs(program) {
		return "", fmt.Sprintf("%s did not tell whether it has debugpy", path)
	}
	return program, ""
}
