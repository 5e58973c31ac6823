package tools_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"testing"
	"unicode/utf16"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// input is a tool call's input.
type input = map[string]any

func tool(t testing.TB, name string) agent.Tool {
	t.Helper()
	for _, tool := range tools.All(settings()) {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// run runs a tool that must not fail.
func run(t testing.TB, w *toolstest.World, name string, in any) *agent.Result {
	t.Helper()
	_, res, err := toolstest.Do(t.Context(), tool(t, name), w.Call(t, name, in))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// fails runs a tool that must fail and returns its error.
func fails(t testing.TB, w *toolstest.World, name string, in any) error {
	t.Helper()
	_, res, err := toolstest.Do(t.Context(), tool(t, name), w.Call(t, name, in))
	if err == nil {
		t.Fatalf("%s did not fail; it said: %s", name, res.Text)
	}
	return err
}

// plan plans a call that must be well formed.
func plan(t testing.TB, w *toolstest.World, name string, in any) *agent.CallPlan {
	t.Helper()
	p, err := toolstest.Plan(t.Context(), tool(t, name), w.Call(t, name, in))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// ripgrepOnly runs the rg at path and knows no other program.
type ripgrepOnly struct{ path string }

func (p ripgrepOnly) LookPath(name string) (string, error) {
	if name != "rg" {
		return "", fmt.Errorf("no %s: %w", name, exec.ErrNotFound)
	}
	return p.path, nil
}

func (p ripgrepOnly) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
	cmd := exec.CommandContext(ctx, prog.Path, prog.Args...)
	cmd.Dir = prog.Dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(stdout, int64(limit)))
	full := len(out) == limit
	if full {
		_ = cmd.Process.Kill() // it may have ended
	}
	werr := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](werr); ok && !full {
		return out, &agent.ExitError{Program: "rg", Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return out, err
}

func fuzzWorld(t testing.TB) *toolstest.World {
	return toolstest.NewWorld(t, map[string]string{"a.txt": "a\n"})
}

func itoa(n int) string { return strconv.Itoa(n) }

func utf16LE(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

func fromUTF16LE(s string) string {
	var units []uint16
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, binary.LittleEndian.Uint16([]byte(s[i:])))
	}
	return string(utf16.Decode(units))
}
