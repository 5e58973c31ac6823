package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// "task kill" says 200; as one test of many it is shorter.
var kills = flag.Int("kills", 10, "how often TestKilled_AtRandomMoments kills gjc")

// The built gjc is killed at random moments of prompts, over and over, on one session. Each prompt that was answered is
// there when the session is loaded again, whole and in order; of the one that was under way, at most a part.
func TestKilled_AtRandomMoments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "gjc")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	loop := &killLoop{t: t, program: program, home: tempDir(t), work: tempDir(t)}
	for round := range *kills {
		loop.round(round)
	}
	v := loop.start()
	loop.load(v)
	v.end()
	t.Logf("%d kills, %d answered prompts", *kills, len(loop.answered))
	if len(loop.answered) == 0 && *kills > 5 {
		t.Error("no prompt was ever answered: the test tests nothing")
	}
}

// killLoop is a session and what was acknowledged of it.
type killLoop struct {
	t                   *testing.T
	program, home, work string
	session             string
	// answered are the prompts that were answered, in order; lost is the one that was under way.
	answered []string
	next     int
	// busy says how often the time until a kill was doubled.
	busy int
}

// victim is one life of gjc.
type victim struct {
	loop  *killLoop
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
	id    int
}

func (l *killLoop) start() *victim {
	l.t.Helper()
	v := &victim{loop: l, cmd: exec.CommandContext(l.t.Context(), l.program, "acp")}
	v.cmd.Env, v.cmd.Dir = environment(l.home), l.work
	var err error
	if v.stdin, err = v.cmd.StdinPipe(); err != nil {
		l.t.Fatal(err)
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	v.lines = bufio.NewReader(out)
	if err := v.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	if _, _, err := v.call("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}}); err != nil {
		l.t.Fatal(err)
	}
	return v
}

// call makes a request and returns its answer with the text of what came before it. The error is that gjc is gone, or
// that it answered with one.
func (v *victim) call(method string, params any) (result json.RawMessage, before string, err error) {
	v.id++
	request, err := json.Marshal(object{"jsonrpc": "2.0", "id": v.id, "method": method, "params": params})
	if err != nil {
		return nil, "", err
	}
	if _, err := v.stdin.Write(append(request, '\n')); err != nil {
		return nil, "", errGone
	}
	var all strings.Builder
	for {
		line, err := v.lines.ReadString('\n')
		if err != nil {
			return nil, all.String(), errGone
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			v.loop.t.Fatalf("%v in %s", err, line)
		}
		if m.Method == "" && string(m.ID) == fmt.Sprint(v.id) {
			if m.Error != nil {
				return nil, all.String(), fmt.Errorf("%s: %s", method, m.Error)
			}
			return m.Result, all.String(), nil
		}
		all.WriteString(line)
	}
}

var errGone = errors.New("gjc is gone")

// load loads the session and looks for all that was answered.
func (l *killLoop) load(v *victim) {
	l.t.Helper()
	if l.session == "" {
		result, _, err := v.call("session/new", object{"cwd": l.work, "mcpServers": []any{}})
		var made struct{ SessionID string }
		if err == nil {
			err = json.Unmarshal(result, &made)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		l.session = made.SessionID
		return
	}
	_, replay, err := v.call("session/load", object{"sessionId": l.session, "cwd": l.work, "mcpServers": []any{}})
	if err != nil {
		l.t.Fatal(err)
	}
	rest := replay
	for _, word := range l.answered {
		// What the user said, and behind it the whole answer.
		for _, want := range []string{`!say ` + word + `"`, word + `\n\nDone."`} {
			_, after, found := strings.Cut(rest, want)
			if !found {
				l.t.Fatalf("%q is lost, or out of order, after %d answered prompts:\n%s", want, len(l.answered), replay)
			}
			rest = after
		}
	}
}

// round is one life: load, prompt, die.
func (l *killLoop) round(round int) {
	l.t.Helper()
	v := l.start()
	l.load(v)
	// The moment is random; it is no way to wait for anything. A machine that is too busy to answer by then gets more time.
	killer := time.AfterFunc(time.Duration(rand.IntN(40_000<<l.busy))*time.Microsecond, func() { _ = v.cmd.Process.Kill() })
	defer killer.Stop()
	for {
		l.next++
		word := fmt.Sprintf("word-%d-%s", l.next, strings.Repeat("x", rand.IntN(50)))
		prompt := object{"sessionId": l.session, "prompt": []any{object{"type": "text", "text": "!say " + word}}}
		_, _, err := v.call("session/prompt", prompt)
		if errors.Is(err, errGone) {
			break
		}
		if err != nil {
			l.t.Fatalf("round %d: %v", round, err)
		}
		l.answered = append(l.answered, word)
	}
	if _ = v.cmd.Process.Kill(); len(l.answered) == 0 {
		l.busy = min(l.busy+1, 8)
	}
	_ = v.cmd.Wait()
}

// end lets gjc go.
func (v *victim) end() {
	_ = v.stdin.Close()
	_, _ = io.Copy(io.Discard, v.lines)
	if err := v.cmd.Wait(); err != nil {
		v.loop.t.Error(err)
	}
}
