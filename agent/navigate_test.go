package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// realLog returns an option that gives a session a log in a [sessions.Store], and the store. fsys may be nil.
func realLog(t *testing.T, fsys sessions.FileSystem) (func(*agent.Options), *sessions.Store) {
	t.Helper()
	store := sessions.NewStore(t.TempDir(), &sessions.StoreOptions{FS: fsys, NewID: func() string { return "s1" }})
	return func(o *agent.Options) {
		log, err := store.Create(context.Background(), sessions.Header{Cwd: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		o.Log = log
	}, store
}

// fillingDisk is the real file system, except that writes fail after the first ones.
type fillingDisk struct {
	sessions.FileSystem
	writes *int // the number of writes that still succeed
}

func (d fillingDisk) OpenFile(name string, flag int, perm fs.FileMode) (sessions.File, error) {
	f, err := d.FileSystem.OpenFile(name, flag, perm)
	return fillingFile{f, d.writes}, err
}

type fillingFile struct {
	sessions.File
	writes *int
}

func (f fillingFile) Write(b []byte) (int, error) {
	if *f.writes--; *f.writes < 0 {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(b)
}

// said returns a request's conversation, one line for each message.
func said(req *providers.Request) []string {
	var all []string
	for _, m := range req.Messages {
		all = append(all, string(m.Role)+": "+m.Text())
	}
	return all
}

// entryWith returns the id of the entry whose message has that text.
func entryWith(t *testing.T, store *sessions.Store, text string) string {
	t.Helper()
	log, err := store.View(context.Background(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := log.Entries()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if m, ok := e.(sessions.MessageEntry); ok && m.Message.Text() == text {
			return e.Ref().ID
		}
	}
	t.Fatalf("no entry says %q", text)
	return ""
}

func (w *world) navigate(id string, opts agent.NavigateOptions) (agent.Navigation, error) {
	var done agent.Navigation
	r := w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, t *agent.RunningTurn) error {
		var err error
		done, err = t.Navigate(ctx, id, opts)
		return err
	}}).Wait(w.t.Context())
	return done, r.Err
}

func TestNavigate_AfterAnAnswerAndBeforeAPrompt(t *testing.T) {
	with, store := realLog(t, nil)
	run(t, with, func(w *world) {
		w.prompt("one")
		w.prompt("three")
		if err := w.session.Change(agent.ToMode(approval.ModePlan), nil)(); err != nil {
			t.Fatal(err)
		}
		done, err := w.navigate(entryWith(t, store, "two"), agent.NavigateOptions{})
		if err != nil || !done.Moved || done.Words != nil || done.Left == 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		w.prompt("five")
		// Moving before a user message returns the message, to be edited.
		done, err = w.navigate(entryWith(t, store, "three"), agent.NavigateOptions{})
		if m := (providers.Message{Parts: done.Words}); err != nil || m.Text() != "three" {
			t.Fatalf("%+v, %v", done, err)
		}
		w.prompt("three, but better")
		snap, err := w.session.Snapshot()
		if err != nil || snap.Mode != approval.ModePlan {
			t.Errorf("mode %s, %v", snap.Mode, err)
		}
		requests := w.script.Requests()
		for i, want := range [][]string{
			{"user: one"},
			{"user: one", "assistant: two", "user: three"},
			{"user: one", "assistant: two", "user: five"},
			{"user: one", "assistant: two", "user: three, but better"},
		} {
			if diff := cmp.Diff(want, said(requests[i])); diff != "" {
				t.Errorf("request %d (-want +got):\n%s", i, diff)
			}
		}
	}, providertest.Step{providertest.Text("two")}, providertest.Step{providertest.Text("four")},
		providertest.Step{providertest.Text("six")}, providertest.Step{providertest.Text("eight")})
	// A loaded session has the mode that was selected in the meantime.
	log, err := store.View(t.Context(), "s1")
	if err != nil || log.State().Mode != "plan" || log.State().Model != "test/script" {
		t.Errorf("state %+v, %v", log.State(), err)
	}
}

func TestNavigate_ToTheCurrentEntryOrAnUnknownOne(t *testing.T) {
	with, store := realLog(t, nil)
	run(t, with, func(w *world) {
		w.prompt("one")
		log, err := store.View(t.Context(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		if done, err := w.navigate(log.Leaf(), agent.NavigateOptions{}); err != nil || done.Moved {
			t.Errorf("%+v, %v", done, err)
		}
		for _, id := range []string{"nowhere", ""} {
			if _, err := w.navigate(id, agent.NavigateOptions{}); err == nil {
				t.Errorf("to %q: no error", id)
			}
		}
		if _, err := w.navigate("nowhere", agent.NavigateOptions{}); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("err = %v", err)
		}
		done, err := w.navigate(entryWith(t, store, "one"), agent.NavigateOptions{Summarize: true})
		if err != nil || done.Leaf != "" || done.Summary == "" {
			t.Errorf("to the beginning: %+v, %v", done, err)
		}
		w.prompt("again")
		last := w.script.Requests()[2]
		if got := said(last); len(got) != 2 || !strings.Contains(got[0], "It was about one.") || got[1] != "user: again" {
			t.Errorf("the model saw %q", got)
		}
	}, providertest.Step{providertest.Text("two")}, providertest.Step{providertest.Text("It was about one.")}, providertest.Step{providertest.Text("fine")})
}

// If the summary fails, the conversation stays where it was.
func TestNavigate_SummaryFails(t *testing.T) {
	with, store := realLog(t, nil)
	run(t, with, func(w *world) {
		w.prompt("one")
		w.prompt("three")
		_, err := w.navigate(entryWith(t, store, "two"), agent.NavigateOptions{Summarize: true})
		if err == nil {
			t.Fatal("no error")
		}
		w.prompt("five")
		got := said(w.script.Requests()[len(w.script.Requests())-1])
		if diff := cmp.Diff([]string{"user: one", "assistant: two", "user: three", "assistant: four", "user: five"}, got); diff != "" {
			t.Errorf("the model saw (-want +got):\n%s", diff)
		}
	}, providertest.Step{providertest.Text("two")}, providertest.Step{providertest.Text("four")},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindAuth, Message: "no"})}, providertest.Step{providertest.Text("six")})
}

func TestUnsaved_IsReportedOnce(t *testing.T) {
	with, _ := realLog(t, fillingDisk{sessions.Disk(), new(20)})
	run(t, with, func(w *world) {
		w.script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("fine")} })
		failed := 0
		for i := range 20 {
			if r := w.prompt(fmt.Sprint("prompt ", i)); r.Err != nil {
				failed++
				if !errors.Is(r.Err, sessions.ErrReadOnly) || !errors.Is(r.Err, syscall.ENOSPC) {
					t.Errorf("err = %v", r.Err)
				}
			} else if failed > 0 {
				t.Error("a prompt was answered after one that could not be saved")
			}
		}
		notices := 0
		for _, line := range w.story() {
			if strings.HasPrefix(line, "notice The session cannot be saved") {
				notices++
			}
		}
		if failed < 5 || notices != 1 {
			t.Errorf("%d prompts failed, %d notices", failed, notices)
		}
	})
}

func TestModelTitle(t *testing.T) {
	for answer, want := range map[string]string{
		"Fix the login page":                              "Fix the login page",
		"# Title: \"Fix the login page.\"\n\nDone.":       "Fix the login page",
		"\n\n**Fix**  the\tlogin page\n":                  "Fix the login page",
		"I would be glad to. " + strings.Repeat("x", 100): "please fix the login",
		"": "please fix the login",
	} {
		smol := providers.ModelInfo{Provider: "test", ID: "smol"}
		titles := func(o *agent.Options) {
			o.TitleModel = func(current providers.ModelInfo) (providers.ModelInfo, bool) {
				if current.ID != "script" {
					t.Errorf("the session's model is %s", current.ID)
				}
				return smol, true
			}
		}
		run(t, titles, func(w *world) {
			w.prompt("please fix the login")
			synctest.Wait()
			snap, err := w.session.Snapshot()
			if err != nil || snap.Title != want {
				t.Errorf("%q: title %q, %v; want %q", answer, snap.Title, err, want)
			}
			w.prompt("and more")
			synctest.Wait()
			if n := len(w.script.Requests()); n != 3 {
				t.Errorf("%d requests, want one for a title", n)
			}
		}, providertest.Step{providertest.Text("done")}, providertest.Step{providertest.Text(answer)}, providertest.Step{providertest.Text("more")})
	}
}

// A session that has a title does not get another one when it is loaded.
func TestModelTitle_Loaded(t *testing.T) {
	for title, want := range map[string]int{"The login": 1, "": 2} {
		loaded := func(o *agent.Options) {
			o.Title = title
			o.History = []providers.Message{
				{Role: providers.RoleUser, Parts: words("please fix the login")}, {Role: providers.RoleAssistant, Parts: words("done")},
			}
			o.TitleModel = func(m providers.ModelInfo) (providers.ModelInfo, bool) { return m, true }
		}
		run(t, loaded, func(w *world) {
			w.prompt("and more")
			synctest.Wait()
			if n := len(w.script.Requests()); n != want {
				t.Errorf("title %q: %d requests, want %d", title, n, want)
			}
		}, providertest.Step{providertest.Text("more")}, providertest.Step{providertest.Text("Fix it")})
	}
}

// The user's title stays, even if it is set while the model generates one.
func TestModelTitle_NotOverTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := providertest.NewGate()
		with, store := realLog(t, nil)
		script := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script"},
			providertest.Step{providertest.Text("done")}, providertest.Step{gate.Hold(), providertest.Text("Theirs")})
		w := &world{t: t, script: script}
		ids := 0
		o := agent.Options{
			ID:           "s1",
			Environment:  agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
			Interaction:  agent.Interaction{Approver: w},
			ModelOptions: agent.ModelOptions{Models: w, Model: script.Info(), TitleModel: func(m providers.ModelInfo) (providers.ModelInfo, bool) { return m, true }},
			Tools:        agent.Tools{},
			Mode:         approval.ModeDefault,
			Emit:         w.emit,
			NewID:        func() string { ids++; return fmt.Sprint(ids) },
		}
		with(&o)
		w.session = agent.New(o)
		w.prompt("please")
		<-gate.Reached()
		if _, pending := w.session.SetTitle("Mine"); pending() != nil {
			t.Fatal("no title")
		}
		gate.Open()
		synctest.Wait()
		if snap, err := w.session.Snapshot(); err != nil || snap.Title != "Mine" {
			t.Errorf("title %q, %v", snap.Title, err)
		}
		if err := w.session.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if log, err := store.View(t.Context(), "s1"); err != nil || log.State().Title != "Mine" {
			t.Errorf("stored title %q, %v", log.State().Title, err)
		}
	})
}

// Navigation changes the fill level of the window: it is no longer that of the last answer in the abandoned branch.
func TestNavigate_Usage(t *testing.T) {
	with, store := realLog(t, nil)
	run(t, func(o *agent.Options) { window(o, 100_000); with(o) }, func(w *world) {
		w.prompt("go on")
		w.prompt("go on")
		turn := w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, turn *agent.RunningTurn) error {
			_, err := turn.Navigate(ctx, entryWith(t, store, "first"), agent.NavigateOptions{})
			return err
		}})
		if r := turn.Wait(context.Background()); r.Err != nil {
			t.Error(r.Err)
		}
		use, err := w.session.ContextUse(context.Background())
		if err != nil || use.Used < 10_000 || use.Used > 11_000 || use.Next != use.Used {
			t.Errorf("%+v, %v; want about 10000 used", use, err)
		}
	}, providertest.Step{providertest.Text("first"), full(10_000)}, providertest.Step{providertest.Text("second"), full(60_000)})
}

// The display of a result is on disk; a session does not hold it in memory.
func TestSession_HoldsNoDetails(t *testing.T) {
	with, store := realLog(t, nil)
	run(t, with, func(w *world) {
		w.prompt("go")
		history, err := w.session.Context()
		if err != nil || len(history) != 4 {
			t.Fatalf("%d messages, %v", len(history), err)
		}
		for _, m := range history {
			if m.Details != nil {
				t.Errorf("%s: %s", m.Role, m.Details)
			}
		}
	}, providertest.Step{providertest.Call("c", "echo", `{}`)}, providertest.Step{providertest.Text("done")})
	log, err := store.View(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := log.Entries()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(entries, func(e sessions.Entry) bool {
		m, ok := e.(sessions.MessageEntry)
		return ok && m.Message.Role == providers.RoleTool && len(m.Message.Details) > 0
	}) {
		t.Error("the file has no details: the test tests nothing")
	}
}
