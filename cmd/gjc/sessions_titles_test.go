package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers/providertest"
)

// naming is a model that answers, and returns a title if asked for one.
func naming(t *testing.T) *providertest.Server {
	t.Helper()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	model.Else(func(r providertest.Recorded) providertest.Step {
		if isTitle(r) {
			return providertest.Step{providertest.Text("**Title:** \"Mending the garden shed.\"\n")}
		}
		return providertest.Step{providertest.Text("The shed is mended.")}
	})
	return model
}

func isTitle(r providertest.Recorded) bool {
	return strings.Contains(string(r.Body), "You name a conversation")
}

func titled(title string) acptest.Expectation {
	return acptest.Update(func(u *acp.SessionInfoUpdate) bool { return u.Title.Or("") == title })
}

// The first prompt is the title at once. After the first turn the model of the role smol returns a better one, once;
// the list and the next process have it, and the user's own is never replaced.
func TestTitles_OfTheModel(t *testing.T) {
	t.Parallel()
	model := naming(t)
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, "modelRoles: {default: fake/large, smol: fake/small}\n")})
	id := l.begin()
	atOnce, named := l.holds(titled("mend the shed, please")), l.holds(titled("Mending the garden shed"))
	l.turn("mend the shed, please\nit is broken")
	for what, came := range map[string]<-chan struct{}{"the first prompt's": atOnce, "the model's": named} {
		select {
		case <-came:
		case <-l.ctx.Done():
			t.Fatalf("%s title does not come", what)
		}
	}
	l.turn("thanks")
	asked := 0
	for _, r := range model.Requests() {
		small := strings.Contains(string(r.Body), `"model":"small"`)
		if small != isTitle(r) {
			t.Errorf("the model small is asked: %v; for a title: %v", small, isTitle(r))
		}
		if isTitle(r) {
			asked++
			if !strings.Contains(string(r.Body), "it is broken") || !strings.Contains(string(r.Body), "The shed is mended") {
				t.Errorf("the title is asked for with %s", r.Body)
			}
		}
	}
	if asked != 1 {
		t.Errorf("a title was asked for %d times", asked)
	}
	// The user names another session before its first turn.
	other := l.begin()
	l.turn("/rename My own name")
	l.turn("mend the shed")
	l.turn("thanks")
	l.stop()

	again := startLife(t, lifeOptions{home: l.home, work: l.work})
	for _, want := range []struct {
		id    acp.SessionID
		title string
	}{{id, "Mending the garden shed"}, {other, "My own name"}} {
		if got := again.walk(again.work)[want.id].Title; got != want.title {
			t.Errorf("it is listed as %q, want %q", got, want.title)
		}
		again.load(want.id)
		if err := again.Await(again.ctx, want.id, titled(want.title)); err != nil {
			t.Error(err)
		}
		again.turn("once more")
	}
	again.stop()
	// A session that already has a title gets no other.
	asked = 0
	for _, r := range model.Requests() {
		if isTitle(r) {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("in the end a title was asked for %d times", asked)
	}
}

// No title is requested if the settings or the environment disable it.
func TestTitles_Off(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, settings string
		env            []string
	}{
		{"setting", "title: {generate: false}\n", nil},
		{"environment", "", []string{"GJC_NO_TITLE=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := naming(t)
			home := scripted(t, model, 100_000, tt.settings+"modelRoles: {default: fake/large, smol: fake/small}\n")
			l := startLife(t, lifeOptions{home: home, env: tt.env})
			id := l.begin()
			l.turn("mend the shed")
			l.turn("and the fence")
			l.stop()
			if n := len(model.Requests()); n != 2 {
				t.Errorf("the model is asked %d times for two prompts", n)
			}
			again := startLife(t, lifeOptions{home: home, work: l.work, env: tt.env})
			if got := again.walk(again.work)[id].Title; got != "mend the shed" {
				t.Errorf("it is listed as %q", got)
			}
			again.stop()
		})
	}
}

// A model that returns no title costs only the request: the first prompt stays the title.
func TestTitles_Failing(t *testing.T) {
	t.Parallel()
	model := naming(t)
	model.Else(func(r providertest.Recorded) providertest.Step {
		if isTitle(r) {
			return unavailable()
		}
		return providertest.Step{providertest.Text("The shed is mended.")}
	})
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, "")})
	id := l.begin()
	l.turn("mend the shed")
	untilRequests(l.ctx, t, model, 2)
	l.turn("and the fence")
	if got := l.walk(l.work)[id].Title; got != "mend the shed" {
		t.Errorf("it is listed as %q", got)
	}
	if updates := shown(l.since(0)); strings.Contains(updates, "overloaded") || strings.Contains(updates, "status 503") {
		t.Errorf("the user is notified of it:\n%s", updates)
	}
	l.stop()
}

// The directory of a session is deleted. The session is listed, shown and exported as before, and continues in another
// directory.
func TestSessions_DirectoryWasRemoved(t *testing.T) {
	t.Parallel()
	l := startLife(t, lifeOptions{})
	id := l.begin()
	l.turn("!write kept.txt words to keep\n!say out of the ruins")
	l.stop()
	if err := os.RemoveAll(l.work); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list", "--all"}, {"list", "--cwd", l.work}, {"show", string(id)}, {"export", string(id), "-o", "-"}, {"export", string(id), "--format", "md", "-o", "-"}} {
		out, errs, err := sessionsCommand(t, l.home, args...)
		want := "out of the ruins"
		if args[0] == "list" {
			want = string(id)
		}
		if err != nil || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%v: %v %s\n%.2000s", args, err, errs, out)
		}
	}
	again := startLife(t, lifeOptions{home: l.home})
	if info, ok := again.walk("")[id]; !ok || info.Cwd != l.work {
		t.Errorf("it is listed as %+v", info)
	}
	if _, ok := again.walk(l.work)[id]; !ok {
		t.Error("it is not in the list of its directory")
	}
	_, lines := again.load(id)
	if !strings.Contains(wordsIn(lines, "agent_message_chunk"), "out of the ruins") {
		t.Errorf("the load is\n%s", shown(lines))
	}
	again.turn("!write new.txt here now")
	if data, err := os.ReadFile(filepath.Join(again.work, "new.txt")); err != nil || !strings.Contains(string(data), "here now") {
		t.Errorf("the new directory holds %q, %v", data, err)
	}
	if _, err := os.Stat(l.work); !os.IsNotExist(err) {
		t.Errorf("the old directory is there again: %v", err)
	}
	again.stop()
}
