package roster_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// parent opens the only session of a store, or creates it.
func parent(t *testing.T, s *sessions.Store) *sessions.Log {
	t.Helper()
	l, err := s.Open(t.Context(), "s1")
	if errors.Is(err, sessions.ErrNotFound) {
		l, err = s.Create(t.Context(), sessions.Header{ID: "s1", Cwd: "/w"})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// end appends a message to the conversation of a helper, and ends it with a report.
func end(t *testing.T, m *roster.Member, report string) {
	t.Helper()
	add, done := m.Memory.AppendMessage, m.Memory.Close
	if m.Stored != nil {
		add, done = m.Stored.AppendMessage, m.Stored.Close
	}
	_, err := add(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "work of " + m.Name}}})
	if err := errors.Join(err, done(), m.End(t.Context(), report)); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, r *roster.Roster, above, wanted string) *roster.Member {
	t.Helper()
	m, err := r.New(t.Context(), above, wanted, &roster.About{Kind: "executor", Title: "Look"}, sessions.Header{ID: "id-" + wanted, Cwd: "/w", ParentSession: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Names are unique, readable, and can be the names of files.
func TestNames(t *testing.T) {
	r := roster.New(nil)
	for _, tt := range []struct{ above, wanted, want string }{
		{"", "Scout", "Scout"},
		{"", "Scout", "Scout-2"},
		{"", "scout", "scout-3"},
		{"Scout", "Scout", "Scout.Scout"},
		{"", "../a b", "a-b"},
		{"", "nul", "nul-1"},
		{"", strings.Repeat("x", 60), strings.Repeat("x", 48)},
	} {
		if m := start(t, r, tt.above, tt.wanted); m.Name != tt.want {
			t.Errorf("%q below %q is called %q, want %q", tt.wanted, tt.above, m.Name, tt.want)
		}
	}
	seen := make(map[string]bool)
	for range 600 {
		name := start(t, r, "", "").Name
		if seen[name] || name == "" || strings.Contains(name, ".") {
			t.Fatalf("a helper without a name is called %q", name)
		}
		seen[name] = true
	}
}

// A helper's report, its conversation and its kind survive a restart. In memory they last as long as the session.
func TestRestart(t *testing.T) {
	store := sessions.NewStore(filepath.Join(t.TempDir(), "sessions"), nil)
	for _, stored := range []bool{true, false} {
		var children *sessions.Children
		var l *sessions.Log
		if stored {
			l = parent(t, store)
			children = l.Children()
		}
		r := roster.New(children)
		m := start(t, r, "", "Scout")
		if _, err := r.Report(t.Context(), "Scout"); err == nil || !strings.Contains(err.Error(), "still working and has no report yet; history://Scout") {
			t.Errorf("a report of a helper at work: %v", err)
		}
		if _, err := r.Continue(t.Context(), "scout"); err == nil || !strings.Contains(err.Error(), "Scout is still working") {
			t.Errorf("a helper at work is continued: %v", err)
		}
		if c, err := r.Conversation(t.Context(), "Scout"); err != nil || c.ID != "id-Scout" {
			t.Errorf("the conversation of a helper at work: %+v, %v", c, err)
		}
		end(t, m, "the report")
		if stored {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			r = roster.New(parent(t, store).Children())
		}
		if report, err := r.Report(t.Context(), "scout"); err != nil || string(report) != "the report" {
			t.Errorf("stored %v: the report is %q, %v", stored, report, err)
		}
		c, err := r.Conversation(t.Context(), "Scout")
		if err != nil || c.Name != "Scout" || c.ID != "id-Scout" || c.Title != "Look" || c.Parent != "s1" {
			t.Fatalf("stored %v: the conversation is %+v, %v", stored, c, err)
		}
		if all := sessions.MessagesOf(c.Branch); len(all) != 1 || all[0].Text() != "work of Scout" {
			t.Errorf("stored %v: the messages are %+v", stored, all)
		}
		if m := start(t, r, "", "Scout"); m.Name != "Scout-2" {
			t.Errorf("stored %v: the name is %s", stored, m.Name)
		} else {
			end(t, m, "")
		}
		again, err := r.Continue(t.Context(), "Scout")
		if err != nil || again.ID != "id-Scout" || again.Kind != "executor" || again.Title != "Look" {
			t.Fatalf("stored %v: continued as %+v, %v", stored, again, err)
		}
		if all, err := again.Messages(); err != nil || len(all) != 1 {
			t.Errorf("stored %v: continued with %+v, %v", stored, all, err)
		}
		end(t, again, "another")
		if report, err := r.Report(t.Context(), "Scout"); err != nil || string(report) != "another" {
			t.Errorf("stored %v: then the report is %q, %v", stored, report, err)
		}
		if _, err := r.Report(t.Context(), "Scout-2"); err == nil || !strings.Contains(err.Error(), "has no report") {
			t.Errorf("a report that is not there: %v", err)
		}
		for _, err := range []error{
			second(r.Report(t.Context(), "Nobody")), second(r.Conversation(t.Context(), "../s1")), second(r.Continue(t.Context(), "")),
		} {
			if !errors.Is(err, roster.ErrUnknown) || !strings.Contains(err.Error(), "the helpers of this session are Scout, Scout-2") {
				t.Errorf("an unknown helper: %v", err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A path or a query selects a part of a report in JSON.
func TestReport_Part(t *testing.T) {
	r := roster.New(nil)
	end(t, start(t, r, "", "J"), "Here it is:\n```json\n"+`{"a": {"b/c": ["x", {"d": 1}]}, "n": null}`+"\n```\n")
	end(t, start(t, r, "", "P"), "plain")
	for address, want := range map[string]string{
		"J/a/b%2Fc/0":    "x",
		"J?q=.a[b/c][0]": "x",
		"J?q=a.b/c[1].d": "1",
		"J/a/b%2Fc/1/":   "{\n\t\"d\": 1\n}",
		"J/n":            "null",
		"P":              "plain",
		"P/":             "plain",
	} {
		if got, err := r.Report(t.Context(), address); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", address, got, err)
		}
	}
	for address, want := range map[string]string{
		"J/b":         `agent://J: "b" in the report is not a member; the members are a, n`,
		"J/a/b%2Fc/2": `"2" in /a/b/c is not an element; it has 2 elements, from 0`,
		"J/n/x":       `cannot be selected`,
		"P/a":         "the report of the helper P is not JSON; read agent://P without a path",
		"J/a?q=.a":    "not both",
		"J?x=.a":      "unknown query",
	} {
		if _, err := r.Report(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

// A schema accepts the JSON of a report, and explains what is wrong with another.
func TestSchema(t *testing.T) {
	s, err := roster.ParseSchema(jsonx.Raw(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for report, want := range map[string]string{
		` {"n": 1} `:                      `{"n": 1}`,
		"```json\n{\"n\": 2}\n```":        `{"n": 2}`,
		"Done.\n\n```\n{\"n\": 3}\n```\n": `{"n": 3}`,
	} {
		if got, err := s.Check(report); err != nil || string(got) != want {
			t.Errorf("%q is %s, %v", report, got, err)
		}
	}
	for report, want := range map[string]string{
		"Done.":                    "it is not one JSON value",
		"":                         "it is not one JSON value",
		`{"n": "x"}`:               "integer",
		`{"m": 1}`:                 "required",
		`{"n": 1, "n": 2}`:         "it is not one JSON value",
		"```\n1\n```\n```\n2\n```": "it is not one JSON value",
	} {
		if _, err := s.Check(report); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", report, err, want)
		}
	}
	for schema, want := range map[string]string{
		`true`: "must be a JSON Schema", ``: "must be a JSON Schema", `{"type": 1}`: "no valid JSON Schema",
		`{"$ref": "https://example.com/x.json"}`: "no valid JSON Schema", `{"pattern": "` + strings.Repeat("x", 70_000) + `"}`: "is larger than 64 KiB",
	} {
		if _, err := roster.ParseSchema(jsonx.Raw(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", schema, err, want)
		}
	}
}
