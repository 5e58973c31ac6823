package dap_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestSnapshot(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Event("output", map[string]any{"category": "stdout", "output": "hello\n"})
	p.Event("output", map[string]any{"category": "telemetry", "output": "secret"})
	p.Event("process", map[string]any{"name": "p", "systemProcessId": 4711})
	if _, err := s.Threads(within(t)); err != nil { // the events are handled before the answer
		t.Fatal(err)
	}
	snap := snapshot(t, s)
	if snap.Stop.Reason != "entry" || snap.Frame.Name != "work" || snap.Frame.Line != 1 || snap.Top != nil || snap.Output != "hello\n" || snap.PID != 4711 {
		t.Errorf("snapshot = %+v", snap)
	}
	want := []dap.SourceLine{{Number: 1, Text: "line a"}, {Number: 2, Text: "line b"}, {Number: 3, Text: "line c"}}
	if diff := cmp.Diff(want, snap.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if snap.Compared || len(snap.Variables) != 3 {
		t.Errorf("variables = %+v", snap.Variables)
	}
	resume(t, s, "next")
	before := len(p.Seen())
	snap = snapshot(t, s)
	requests := p.Seen()[before:]
	if diff := cmp.Diff([]string{"stackTrace", "scopes", "variables"}, requests); diff != "" {
		t.Errorf("requests of a snapshot (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]dap.Change{{Name: "line", Old: "1", Value: "2", Type: "int"}}, snap.Changes); diff != "" || !snap.Compared || snap.Output != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	before = len(p.Seen())
	if again := snapshot(t, s); len(again.Changes) != 1 || len(p.Seen()) != before {
		t.Errorf("the second snapshot of a stop made requests or lost its changes: %+v", again)
	}
}

func TestSnapshot_StoppedInLibrary(t *testing.T) {
	_, s, _ := begin(t, dap.Options{}, func(p *daptest.Program) {
		p.Handle("stackTrace", func(r *daptest.Request) {
			var args godap.StackTraceArguments
			r.Decode(&args)
			frames := []godap.StackFrame{
				{Id: 1, Name: "panic", Line: 5, Source: &godap.Source{Path: filepath.Join(t.TempDir(), "runtime.x")}},
				{Id: 2, Name: "no source"},
				{Id: 3, Name: "mine", Line: 4, Source: &godap.Source{Path: p.Path}},
			}
			r.Respond(godap.StackTraceResponseBody{StackFrames: frames[:min(args.Levels, 3)]})
		})
	})
	snap := snapshot(t, s)
	if snap.Frame.Name != "mine" || snap.Top == nil || snap.Top.Name != "panic" || len(snap.Lines) != 5 {
		t.Errorf("snapshot: frame %+v, top %+v, lines %v", snap.Frame, snap.Top, snap.Lines)
	}
}

func TestHandles_ValidForOneStop(t *testing.T) {
	_, s, _ := begin(t, dap.Options{})
	frames, _, err := s.StackTrace(within(t), 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := s.StackTrace(within(t), 0, 0, 0)
	if err != nil || again[0].ID != frames[0].ID {
		t.Errorf("a second stack trace has another handle for the same frame: %v", err)
	}
	scopes, err := s.Scopes(within(t), frames[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	resume(t, s, "next")
	if _, err := s.Scopes(within(t), frames[0].ID); !errors.Is(err, dap.ErrStale) {
		t.Errorf("a frame of the previous stop: %v", err)
	}
	if _, _, err := s.Variables(within(t), scopes[0].Ref, dap.Page{}); !errors.Is(err, dap.ErrStale) {
		t.Errorf("variables of the previous stop: %v", err)
	}
	fresh, _, err := s.StackTrace(within(t), 0, 0, 0)
	if err != nil || fresh[0].ID <= scopes[0].Ref {
		t.Errorf("a handle was issued again: %v, %v", fresh, err)
	}
	if _, err := s.Scopes(within(t), 9999); !errors.Is(err, dap.ErrUnknownHandle) {
		t.Errorf("a handle that was never issued: %v", err)
	}
	if _, _, err := s.Variables(within(t), fresh[0].ID, dap.Page{}); !errors.Is(err, dap.ErrUnknownHandle) {
		t.Errorf("the handle of a frame as that of variables: %v", err)
	}
}

func TestResume_Refused(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	frames, _, err := s.StackTrace(within(t), 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Handle("next", func(r *daptest.Request) { r.Refuse("cannot step here") })
	err = s.Resume(within(t), dap.Resume{Command: "next"})
	if re, ok := errors.AsType[*dap.RequestError](err); !ok || re.Text != "cannot step here" {
		t.Errorf("err = %v", err)
	}
	if err := s.Wait(within(t)); err != nil || s.State() != dap.StateStopped {
		t.Errorf("state = %s, %v", s.State(), err)
	}
	if _, err := s.Scopes(within(t), frames[0].ID); err != nil {
		t.Errorf("the frame is no longer valid: %v", err)
	}
}

func TestResume_Arguments(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	var got []string
	for _, command := range []string{"next", "stepIn", "stepBack", "reverseContinue", "goto", "restartFrame", "continue"} {
		p.Handle(command, func(r *daptest.Request) {
			got = append(got, r.Command+" "+string(r.Arguments))
			r.Respond(nil)
			p.Stop("step")
		})
	}
	for _, r := range []dap.Resume{
		{Command: "next", Granularity: "instruction"},
		{Command: "stepIn", Target: 5, Thread: 3, Single: true},
		{Command: "stepBack"},
		{Command: "reverseContinue"},
		{Command: "goto", Target: 0},
		{Command: "restartFrame"},
		{Command: "continue", Granularity: "line"},
	} {
		if err := s.Resume(within(t), r); err != nil {
			t.Fatalf("%s: %v", r.Command, err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`next {"threadId":1,"granularity":"instruction"}`,
		`stepIn {"threadId":3,"singleThread":true,"targetId":5}`,
		`stepBack {"threadId":1}`,
		`reverseContinue {"threadId":1}`,
		`goto {"threadId":1,"targetId":0}`,
		`restartFrame {"frameId":1}`,
		`continue {"threadId":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if err := s.Resume(within(t), dap.Resume{Command: "next", Granularity: "leap"}); err == nil {
		t.Error("an unknown granularity was accepted")
	}
}

func TestWait_Timeout(t *testing.T) {
	_, s, _ := begin(t, dap.Options{})
	if err := s.Resume(within(t), dap.Resume{Command: "continue"}); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("timeout")
	ctx, cancel := context.WithTimeoutCause(own(t), 20*time.Millisecond, cause)
	defer cancel()
	if err := s.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
	if snap := snapshot(t, s); snap.State != dap.StateRunning || snap.Frame != nil {
		t.Errorf("snapshot = %+v", snap)
	}
	if _, _, err := s.StackTrace(within(t), 0, 0, 0); !errors.Is(err, dap.ErrRunning) {
		t.Errorf("the stack of a running program: %v", err)
	}
	if _, err := s.Evaluate(within(t), "x", "watch", 0); !errors.Is(err, dap.ErrRunning) {
		t.Errorf("an expression in a running program: %v", err)
	}
	if err := s.Resume(within(t), dap.Resume{Command: "next"}); !errors.Is(err, dap.ErrRunning) {
		t.Errorf("a step of a running program: %v", err)
	}
	if err := s.Pause(within(t), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if snap := snapshot(t, s); snap.Stop == nil || snap.Stop.Reason != "pause" {
		t.Errorf("snapshot = %+v", snap)
	}
}

// TestWait_ProgramEnds checks that the snapshot of a program that ended during Wait has its exit code and its last output.
func TestWait_ProgramEnds(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("continue", func(r *daptest.Request) {
		r.Respond(nil)
		p.Event("output", map[string]any{"category": "stdout", "output": "bye\n"})
		p.End(3)
		p.Event("output", map[string]any{"category": "stdout", "output": "late\n"})
	})
	resume(t, s, "continue")
	snap := snapshot(t, s)
	if snap.State != dap.StateTerminated || snap.ExitCode == nil || *snap.ExitCode != 3 || snap.Ended != nil || snap.Output != "bye\nlate\n" {
		t.Errorf("snapshot = %+v", snap)
	}
	p.Gone()
}

func TestWait_ExitedEventOnly(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("continue", func(r *daptest.Request) { r.Respond(nil); p.Event("exited", map[string]any{"exitCode": 0}) })
	resume(t, s, "continue")
	if snap := snapshot(t, s); snap.State != dap.StateTerminated || snap.ExitCode == nil || *snap.ExitCode != 0 {
		t.Errorf("snapshot = %+v", snap)
	}
}

func TestStopped_OtherThreads(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Reply("threads", godap.ThreadsResponseBody{Threads: []godap.Thread{{Id: 1, Name: "main"}, {Id: 2, Name: "a"}, {Id: 3, Name: "b"}}})
	p.Handle("continue", func(r *daptest.Request) {
		r.Respond(map[string]any{"allThreadsContinued": true})
		for id := 2; id <= 3; id++ {
			p.Event("stopped", godap.StoppedEventBody{Reason: "breakpoint", ThreadId: id})
		}
	})
	resume(t, s, "continue")
	threads, err := s.Threads(within(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []dap.Thread{{ID: 1, Name: "main"}, {ID: 2, Name: "a", Stopped: true}, {ID: 3, Name: "b", Stopped: true}}
	if diff := cmp.Diff(want, threads); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if snap := snapshot(t, s); snap.Stop.Thread != 2 || len(snap.Stop.Others) != 1 || snap.Stop.Others[0] != 3 {
		t.Errorf("stop = %+v", snap.Stop)
	}
}

func TestContinuedEvent(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Event("continued", godap.ContinuedEventBody{ThreadId: 1, AllThreadsContinued: true})
	if _, err := s.Threads(within(t)); err != nil {
		t.Fatal(err)
	}
	if s.State() != dap.StateRunning {
		t.Errorf("state = %s", s.State())
	}
}

// TestInvalidatedEvent checks that an invalidated answer is requested again.
func TestInvalidatedEvent(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	_ = snapshot(t, s)
	p.Reply("variables", godap.VariablesResponseBody{Variables: []godap.Variable{{Name: "line", Value: "77"}}})
	if snap := snapshot(t, s); snap.Variables[0].Value != "1" {
		t.Errorf("variables = %+v", snap.Variables)
	}
	p.Event("invalidated", map[string]any{"areas": []string{"variables"}})
	if _, err := s.Threads(within(t)); err != nil {
		t.Fatal(err)
	}
	if snap := snapshot(t, s); snap.Variables[0].Value != "77" {
		t.Errorf("variables = %+v", snap.Variables)
	}
}

func TestMalformedMessages(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	for _, text := range []string{
		"Content-Length: 3\r\n\r\n{]}", "Content-Length: 2\r\n\r\n{}", "text on stdout\n\n", "Content-Length: x\r\n\r\n",
		"Content-Type: a\r\nContent-Length: 27\r\nX-Other: 1\r\n\r\n" + `{"type":"event","event":""}`,
		frame(`{"type":"response","request_seq":99999,"success":true}`), frame(`{"type":"response","request_seq":1,"success":true}`),
		frame(`{"type":"event","event":"stopped","body":[]}`), frame(`{"type":"event","event":"output","body":{"output":5}}`),
		frame(`{"type":"unknown"}`), frame(`{"seq":"one","type":"event","event":"x"}`), frame(`{"type":"event","type":"event","event":"x"}`),
		frame("{\"type\":\"event\",\"event\":\"output\",\"body\":{\"category\":\"stdout\",\"output\":\"\xff\xfe\"}}"),
		frame(`{"type":"event","event":"breakpoint","body":{"reason":"new","breakpoint":{"id":1}}}`),
		frame(`{"type":"event","event":"thread"}`), frame(`{"type":"event","event":"capabilities","body":{"capabilities":7}}`),
		frame(`{"seq":1,"type":"event","event":"myOwn","body":{"a":1}}`),
	} {
		p.Raw([]byte(text))
	}
	resume(t, s, "next")
	snap := snapshot(t, s)
	if snap.State != dap.StateStopped || !strings.Contains(snap.Output, "\uFFFD") {
		t.Errorf("snapshot = %+v", snap)
	}
	if diff := cmp.Diff([]dap.Event{{Name: "myOwn", Body: `{"a":1}`}}, s.Events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func frame(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }

func TestDuplicateAnswers(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("evaluate", func(r *daptest.Request) {
		r.Respond(map[string]any{"result": "1"})
		r.Respond(map[string]any{"result": "2"})
		r.Refuse("three")
	})
	for range 20 {
		v, err := s.Evaluate(within(t), "x", "watch", 0)
		if err != nil || v.Value != "1" {
			t.Fatalf("evaluate = %+v, %v", v, err)
		}
	}
}

func TestRequestError_Text(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("evaluate", func(r *daptest.Request) {
		p.Raw([]byte(frame(fmt.Sprintf(`{"type":"response","request_seq":%d,"success":false,"command":"evaluate","message":"short","body":{"error":{"id":7,"format":"no symbol {name}","variables":{"name":"zork"}}}}`, r.Seq))))
	})
	_, err := s.Evaluate(within(t), "zork", "watch", 0)
	re, ok := errors.AsType[*dap.RequestError](err)
	if !ok || re.Text != "no symbol zork" || re.ID != 7 {
		t.Errorf("err = %#v", err)
	}
}

func TestCancel_SendsRequest(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	evaluating := make(chan int, 1)
	p.Handle("evaluate", func(r *daptest.Request) { evaluating <- r.Seq })
	cancelled := make(chan string, 1)
	p.Handle("cancel", func(r *daptest.Request) { cancelled <- string(r.Arguments); r.Respond(nil) })
	ctx, cancel := context.WithCancelCause(own(t))
	done := make(chan error, 1)
	go func() {
		_, err := s.Evaluate(ctx, "slow()", "watch", 0)
		done <- err
	}()
	seq := <-evaluating
	cause := errors.New("cancelled")
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
	if got, want := <-cancelled, fmt.Sprintf(`{"requestId":%d}`, seq); got != want {
		t.Errorf("cancel = %s, want %s", got, want)
	}
	resume(t, s, "next")
}

func TestOutput_Bounded(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var seen sync.WaitGroup
	seen.Add(1)
	count := 0
	release := s.Observe(dap.Observer{Output: func(category, text string) {
		if count++; count == 100_000 {
			seen.Done()
		}
	}})
	defer release()
	var flood []byte
	for i := range 100_000 {
		flood = append(flood, frame(fmt.Sprintf(`{"seq":%d,"type":"event","event":"output","body":{"category":"stdout","output":"line %d of the flood\n"}}`, i, i))...)
	}
	p.Raw(flood)
	flood = nil
	seen.Wait()
	text, dropped := s.Output(within(t))
	if !strings.HasSuffix(text, "line 99999 of the flood\n") || len(text) > 128<<10 || dropped == 0 {
		t.Errorf("%d bytes, %d dropped, ends with %q", len(text), dropped, text[max(0, len(text)-40):])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes are still held after the output", grown)
	}
	_ = flood
}

func TestVariables_Large(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Reply("evaluate", map[string]any{"result": strings.Repeat("é", 5<<20), "variablesReference": 77, "indexedVariables": 1_000_000})
	v, err := s.Evaluate(within(t), "huge", "watch", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Value) > 20<<10 || !strings.Contains(v.Value, "bytes more]") {
		t.Errorf("the value has %d bytes", len(v.Value))
	}
	var pages []string
	p.Handle("variables", func(r *daptest.Request) {
		var args godap.VariablesArguments
		r.Decode(&args)
		pages = append(pages, string(r.Arguments))
		list := make([]godap.Variable, args.Count)
		for i := range list {
			list[i] = godap.Variable{Name: fmt.Sprint(args.Start + i), Value: "0"}
		}
		r.Respond(godap.VariablesResponseBody{Variables: list})
	})
	list, more, err := s.Variables(within(t), v.Ref, dap.Page{Filter: "indexed", Start: 500_000, Count: 50})
	if err != nil || len(list) != 50 || !more || list[0].Name != "500000" {
		t.Errorf("%d variables, more %v, %v", len(list), more, err)
	}
	if diff := cmp.Diff([]string{`{"variablesReference":77,"filter":"indexed","start":500000,"count":50}`}, pages); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	// An adapter without paging.
	all := make([]godap.Variable, 1000)
	for i := range all {
		all[i].Name = fmt.Sprint(i)
	}
	p.Reply("variables", godap.VariablesResponseBody{Variables: all})
	list, more, err = s.Variables(within(t), v.Ref, dap.Page{Start: 10, Count: 5})
	if err != nil || !more || len(list) != 5 || list[0].Name != "10" {
		t.Errorf("variables = %v, more %v, %v", list, more, err)
	}
}

// TestVariables_Cycle checks that a variable that contains itself has one handle, so that the caller can detect the cycle.
func TestVariables_Cycle(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Reply("evaluate", map[string]any{"result": "self", "variablesReference": 5})
	p.Reply("variables", godap.VariablesResponseBody{Variables: []godap.Variable{{Name: "me", Value: "self", VariablesReference: 5}}})
	v, err := s.Evaluate(within(t), "x", "watch", 0)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := s.Variables(within(t), v.Ref, dap.Page{})
	if err != nil || list[0].Ref != v.Ref {
		t.Errorf("variables = %+v, %v", list, err)
	}
}

func TestTerminate_Idempotent(t *testing.T) {
	d, s, p := begin(t, dap.Options{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.Terminate(within(t), true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := s.Terminate(within(t), true); err != nil {
		t.Error(err)
	}
	n := 0
	for _, c := range p.Seen() {
		if c == "disconnect" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("disconnect was sent %d times", n)
	}
	for range 2 {
		if err := d.Close(within(t)); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Start(within(t), &dap.Start{Request: "launch", Address: "unix:/nowhere", Dir: "/"}); !errors.Is(err, dap.ErrClosed) {
		t.Errorf("start after Close: %v", err)
	}
}

func TestTerminate_Attached(t *testing.T) {
	for _, kill := range []bool{false, true} {
		d := newDebugger(t, dap.Options{})
		a, address := daptest.Listen(t)
		p := daptest.NewProgram(a, source(t), daptest.All())
		arguments := make(chan string, 1)
		p.Handle("disconnect", func(r *daptest.Request) { arguments <- string(r.Arguments); r.Respond(nil); p.Hangup() })
		s, err := d.Start(within(t), &dap.Start{Request: "attach", Address: address, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Terminate(within(t), kill); err != nil {
			t.Fatal(err)
		}
		if got, want := <-arguments, fmt.Sprintf(`{"terminateDebuggee":%v}`, kill); got != want {
			t.Errorf("disconnect = %s, want %s", got, want)
		}
	}
}

func TestIdle_EndsTheSession(t *testing.T) {
	notices := make(chan string, 1)
	_, s, p := begin(t, dap.Options{Idle: 50 * time.Millisecond, Notice: func(text string) { notices <- text }})
	if text := <-notices; !strings.Contains(text, "debug-1") || !strings.Contains(text, "it was idle") {
		t.Errorf("notice = %q", text)
	}
	p.Gone()
	_, err := s.Threads(within(t))
	if !errors.Is(err, dap.ErrTerminated) || !strings.Contains(err.Error(), "it was idle") {
		t.Errorf("err = %v", err)
	}
	if snap := snapshot(t, s); snap.State != dap.StateTerminated || snap.Ended == nil {
		t.Errorf("snapshot = %+v", snap)
	}
}

func TestRestart(t *testing.T) {
	t.Run("by request", func(t *testing.T) {
		_, s, p := begin(t, dap.Options{})
		p.Handle("restart", func(r *daptest.Request) { r.Respond(nil); p.Stop("entry") })
		if err := s.Restart(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if s.State() != dap.StateStopped {
			t.Errorf("state = %s", s.State())
		}
	})
	// dlv sends exited for the old program, then initialized to receive all breakpoints again.
	t.Run("by request, with a new configuration", func(t *testing.T) {
		_, s, p := begin(t, dap.Options{})
		if _, err := s.SetBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: p.Path, Line: 5}); err != nil {
			t.Fatal(err)
		}
		p.Handle("restart", func(r *daptest.Request) {
			r.Respond(nil)
			p.Event("exited", map[string]any{"exitCode": 9})
			p.Event("initialized", nil)
		})
		before := len(p.Seen())
		if err := s.Restart(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if got := p.Seen()[before:]; !slices.Contains(got, "setBreakpoints") || got[len(got)-1] != "configurationDone" {
			t.Errorf("requests = %v", got)
		}
		if snap := snapshot(t, s); snap.State != dap.StateStopped || snap.Stop.Reason != "entry" || snap.ExitCode != nil {
			t.Errorf("snapshot = %+v", snap)
		}
	})
	t.Run("by a new adapter", func(t *testing.T) {
		d := newDebugger(t, dap.Options{})
		a, spec := daptest.Process(t)
		caps := daptest.All()
		caps.SupportsRestartRequest = false
		p := daptest.NewProgram(a, source(t), caps)
		s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetBreakpoint(within(t), dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: p.Path, Line: 5}); err != nil {
			t.Fatal(err)
		}
		b, second := daptest.Process(t)
		daptest.NewProgram(b, p.Path, caps)
		spec.Env = second.Env // the next process is controlled by b
		if err := s.Restart(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if s.State() != dap.StateStopped || s.ID() != "debug-1" {
			t.Errorf("state = %s", s.State())
		}
		a.Gone()
		if got := strings.Join(b.Seen(), " "); !strings.Contains(got, "setBreakpoints") {
			t.Errorf("the new adapter did not receive the breakpoints: %s", got)
		}
	})
	// dlv does this if it cannot rebuild a binary.
	t.Run("by request, failing", func(t *testing.T) {
		d := newDebugger(t, dap.Options{})
		a, spec := daptest.Process(t)
		p := daptest.NewProgram(a, source(t), daptest.All())
		b, second := daptest.Process(t)
		daptest.NewProgram(b, p.Path, daptest.All())
		s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		spec.Env = second.Env
		p.Handle("restart", func(r *daptest.Request) { r.Respond(nil); r.Refuse("cannot rebuild"); p.End(0) })
		if err := s.Restart(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if snap := snapshot(t, s); snap.State != dap.StateStopped || snap.ExitCode != nil {
			t.Errorf("snapshot = %+v", snap)
		}
		a.Gone()
	})
	t.Run("requested by the adapter", func(t *testing.T) {
		d := newDebugger(t, dap.Options{})
		a, spec := daptest.Process(t)
		p := daptest.NewProgram(a, source(t), daptest.All())
		b, second := daptest.Process(t)
		daptest.NewProgram(b, p.Path, daptest.All())
		launched := make(chan string, 1)
		b.Handle("launch", func(r *daptest.Request) { launched <- string(r.Arguments); r.Respond(nil) })
		s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path), Arguments: map[string]any{"a": 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		spec.Env = second.Env
		p.Handle("continue", func(r *daptest.Request) {
			r.Respond(nil)
			p.Event("terminated", map[string]any{"restart": map[string]any{"port": 5}})
		})
		resume(t, s, "continue")
		if got := <-launched; got != `{"__restart":{"port":5},"a":1}` {
			t.Errorf("launch = %s", got)
		}
		if s.State() != dap.StateStopped {
			t.Errorf("state = %s", s.State())
		}
	})
}

func TestCustom(t *testing.T) {
	_, s, p := begin(t, dap.Options{})
	p.Handle("mySpecial", func(r *daptest.Request) { r.Respond(map[string]any{"got": string(r.Arguments)}) })
	body, err := s.Custom(within(t), "mySpecial", jsonx.Raw(`{"x":1}`))
	if err != nil || string(body) != `{"got":"{\"x\":1}"}` {
		t.Errorf("answer = %s, %v", body, err)
	}
	if _, err := s.Custom(within(t), "disconnect", nil); err == nil {
		t.Error("disconnect was accepted")
	}
}
