package config

import (
	"cmp"
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
	// probeTimeout bounds one probe of a program.
	probeTimeout = 3 * time.Second
	// probeAge is the age at which a program is probed again. failureAge is the same after a failure, which the user may fix.
	probeAge, failureAge = 10 * time.Minute, 20 * time.Second
	// probeBytes bounds the output that is kept.
	probeBytes = 64 << 10
)

// minGDB is the first version that supports the protocol.
const minGDB = 14

var errProbe = errors.New("it did not answer within 3 seconds")

// prober runs programs to find out their version or features, and caches the answers. The catalog's lock guards it.
type prober struct {
	opts  *Options
	known map[string]answer
}

// answer is the output of a program, or why the probe failed.
type answer struct {
	text string
	why  string
	when time.Time
}

// ask runs a program and returns its output. The program runs in its own directory, because it could load files from a project's
// directory.
func (p *prober) ask(ctx context.Context, path string, args, env []string) answer {
	info, err := os.Stat(path)
	if err != nil {
		return answer{why: err.Error()}
	}
	key := strings.Join([]string{path, info.ModTime().String(), strings.Join(args, "\x00"), lastEntry(env)}, "\x00")
	if known, ok := p.known[key]; ok {
		age := probeAge
		if known.why != "" {
			age = failureAge
		}
		if time.Since(known.when) < age {
			return known
		}
	}
	a := p.run(ctx, path, args, env)
	if ctx.Err() == nil { // do not cache an incomplete answer
		a.when = time.Now()
		p.known[key] = a
	}
	return a
}

// lastEntry returns the entry that a probe has added to the environment.
func lastEntry(env []string) string {
	if len(env) == 0 {
		return ""
	}
	return env[len(env)-1]
}

func (p *prober) run(ctx context.Context, path string, args, env []string) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errProbe)
	defer cancel()
	out := &prefixWriter{}
	child, err := p.opts.Probe(ctx, &proc.Options{Path: path, Args: args, Env: proc.Environ(env), Dir: filepath.Dir(path), Stdout: out, Mark: proc.NewMark()})
	if err != nil {
		return answer{why: err.Error()}
	}
	if err := child.Err(); err != nil {
		text := strings.TrimSpace(child.Stderr().String())
		text = text[strings.LastIndexByte(text, '\n')+1:]
		return answer{text: string(out.text), why: cmp.Or(text, err.Error())}
	}
	return answer{text: string(out.text)}
}

// prefixWriter keeps the first probeBytes bytes.
type prefixWriter struct{ text []byte }

func (h *prefixWriter) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), probeBytes-len(h.text))]...)
	return len(b), nil
}

var gdbVersion = regexp.MustCompile(`(\d+)\.\d[\d.]*(?:[-\w.]*)\s*$`)

// gdb returns why a gdb cannot be used, or "".
func (p *prober) gdb(ctx context.Context, path string, env []string) (why string) {
	a := p.ask(ctx, path, []string{"-nx", "-batch", "-ex", "show version", "-ex", `python print("has Python")`}, env)
	first := text.FirstLine(a.text)
	m := gdbVersion.FindStringSubmatch(first)
	switch {
	case m == nil && a.why != "":
		return fmt.Sprintf("%s did not print its version: %s", path, a.why)
	case m == nil:
		return fmt.Sprintf("%s did not print its version; gdb %d or newer is needed", path, minGDB)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < minGDB {
		return fmt.Sprintf("%s is version %s, and the Debug Adapter Protocol needs gdb %d or newer", path, strings.TrimSpace(m[0]), minGDB)
	}
	if !strings.Contains(a.text, "has Python") {
		return path + " was built without Python, which the Debug Adapter Protocol needs"
	}
	return ""
}

// hasDebugpy prints the interpreter: the program on PATH may be a shim that chooses one by the directory.
const hasDebugpy = "import sys, debugpy; print(sys.executable)"

// debugpy returns the interpreter that path runs if it has debugpy, or the reason why there is none. A pyenv shim selects the
// interpreter for root.
func (p *prober) debugpy(ctx context.Context, path, root string, env []string) (program, why string) {
	a := p.ask(ctx, path, []string{"-c", hasDebugpy}, append(env[:len(env):len(env)], "PYENV_DIR="+root))
	if a.why != "" {
		return "", fmt.Sprintf("%s cannot import debugpy: %s", path, a.why)
	}
	if program = strings.TrimSpace(a.text); !filepath.IsAbs(program) {
		return "", fmt.Sprintf("%s did not print whether it has debugpy", path)
	}
	return program, ""
}
