package trust_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/trust"
)

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func subject(path string, programs bool, files ...string) *trust.Subject {
	s := &trust.Subject{Path: path}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		s.Files = append(s.Files, trust.NewFile(name, []byte(text)))
	}
	if programs {
		s.Programs = []string{"bin/x"}
	}
	return s
}

func look(t *testing.T, s interface {
	Look(*trust.Subject) (trust.Verdict, error)
}, sub *trust.Subject,
) trust.Verdict {
	t.Helper()
	v, err := s.Look(sub)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An answer covers only what the user was shown: any other content requires a new question, whatever the first answer was. Content
// removed from the workspace does not.
func TestStore(t *testing.T) {
	for _, state := range []trust.State{trust.Trusted, trust.Denied} {
		dir := tempDir(t)
		path := filepath.Join(dir, "agent", "trust.json")
		s := trust.Open(path)
		if v := look(t, s, subject(dir, true, "a=1")); v.State != trust.Unknown || v.Changed != nil {
			t.Errorf("nothing is known, but %+v", v)
		}
		if err := s.Set(t.Context(), subject(dir, false, "a=1", ".gjc/b=2"), state); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			sub     *trust.Subject
			state   trust.State
			changed string
		}{
			{subject(dir, false, "a=1", ".gjc/b=2"), state, ""},
			{subject(dir, false, "a=1"), state, ""},
			{subject(dir, false), state, ""},
			{subject(dir, false, "a=2", ".gjc/b=2"), trust.Unknown, "a"},
			{subject(dir, false, "a=1", "c=2"), trust.Unknown, ""}, // the user was not asked about c
			{subject(dir, true, "a=1"), trust.Unknown, "programs"},
			{subject(filepath.Join(dir, "sub"), false, "a=1"), trust.Unknown, ""},
		} {
			v := look(t, trust.Open(path), tt.sub)
			if v.State != tt.state || strings.Join(v.Changed, " ") != tt.changed {
				t.Errorf("%s: %+v is %+v", state, tt.sub, v)
			}
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}

// Parts of the program ask about their own files of the same workspace. Each file keeps its answer until it gets another one.
func TestStore_Merge(t *testing.T) {
	dir := tempDir(t)
	s := trust.Open(filepath.Join(dir, "trust.json"))
	set := func(state trust.State, sub *trust.Subject) {
		t.Helper()
		if err := s.Set(t.Context(), sub, state); err != nil {
			t.Fatal(err)
		}
	}
	set(trust.Trusted, subject(dir, false, "lsp.json=1"))
	set(trust.Trusted, subject(dir, true, "dap.json=1"))
	if v := look(t, s, subject(dir, true, "lsp.json=1", "dap.json=1")); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
	set(trust.Trusted, subject(dir, true, "lsp.json=2"))
	if v := look(t, s, subject(dir, false, "lsp.json=1")); v.State != trust.Unknown {
		t.Errorf("an old content is still trusted: %+v", v)
	}
	set(trust.Denied, subject(dir, false, "dap.json=2", "hooks.yml=1"))
	is := func(sub *trust.Subject, want trust.State) {
		t.Helper()
		if v := look(t, s, sub); v.State != want {
			t.Errorf("%+v is %+v, want %q", sub, v, want)
		}
	}
	is(subject(dir, true, "lsp.json=2"), trust.Trusted)
	is(subject(dir, false, "dap.json=2"), trust.Denied)
	is(subject(dir, false, "dap.json=1"), trust.Unknown)
	is(subject(dir, false, "lsp.json=2", "dap.json=2"), trust.Denied)
	is(subject(dir, false, "lsp.json=2", "new=1"), trust.Unknown)
	set(trust.Trusted, subject(dir, false, "hooks.yml=1"))
	is(subject(dir, true, "lsp.json=2", "hooks.yml=1"), trust.Trusted)
	is(subject(dir, false, "dap.json=2"), trust.Denied)
	set(trust.Denied, subject(dir, true))
	is(subject(dir, true), trust.Denied)
	is(subject(dir, false, "lsp.json=2"), trust.Trusted)
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Path != dir || list[0].State != trust.Denied || list[0].When.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if diff := cmp.Diff([][]string{{"lsp.json", "hooks.yml"}, {"dap.json", trust.Programs}}, [][]string{list[0].Covers(trust.Trusted), list[0].Covers(trust.Denied)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file of an earlier program is read, and it is written in that form as long as a workspace has one answer.
func TestStore_Versions(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "trust.json")
	f := trust.NewFile("lsp.json", []byte("1"))
	text := `{"version":1,"workspaces":[{"path":` + strconv.Quote(dir) + `,"state":"trusted","when":"2026-01-02T03:04:05Z","files":[{"name":"lsp.json","sha256":"` + f.Sum + `"}],"programs":true}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := trust.Open(path)
	if v := look(t, s, subject(dir, true, "lsp.json=1")); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
	for _, tt := range []struct {
		state trust.State
		want  string
	}{{trust.Trusted, `{"version":1,`}, {trust.Denied, `{"version":2,`}, {trust.Trusted, `{"version":1,`}} {
		if err := s.Set(t.Context(), subject(dir, false, "mcp.json=1"), tt.state); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), tt.want) {
			t.Errorf("after %s, %v: %s", tt.state, err, data)
		}
	}
}

// A question is open until it has an answer for this content.
func TestSession_Question(t *testing.T) {
	dir := tempDir(t)
	s := trust.NewSession(trust.Open(filepath.Join(dir, "trust.json")))
	ask := func(files ...string) *trust.Question { return s.Question(subject(dir, false, files...)) }
	if s.Question(nil) != nil || ask() != nil {
		t.Error("a question about nothing")
	}
	one := ask("a=1")
	if one == nil || one.Key() == ask("a=2").Key() || one.Key() == ask("b=1").Key() || one.Key() != ask("a=1").Key() {
		t.Fatalf("%+v", one)
	}
	if err := one.Answer(t.Context(), false, false); err != nil || ask("a=1") != nil {
		t.Errorf("asked again: %v", err)
	}
	again := ask("a=2")
	if diff := cmp.Diff([]string{"a (changed since you were asked)"}, again.Lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := again.Answer(t.Context(), true, true); err != nil || look(t, s, subject(dir, false, "a=2")).State != trust.Trusted {
		t.Errorf("not trusted: %v", err)
	}
	if v := look(t, trust.NewSession(trust.Open(filepath.Join(dir, "trust.json"))), subject(dir, false, "a=2")); v.State != trust.Trusted {
		t.Errorf("not kept: %+v", v)
	}
}

// A link to a workspace shares its answer until the link points elsewhere.
func TestStore_Links(t *testing.T) {
	dir := tempDir(t)
	a, b, link := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "link")
	for _, d := range []string{a, b} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(a, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	s := trust.Open(filepath.Join(dir, "trust.json"))
	if err := s.Set(t.Context(), subject(link, false, "f=1"), trust.Trusted); err != nil {
		t.Fatal(err)
	}
	if v := look(t, s, subject(a, false, "f=1")); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(b, link)); err != nil {
		t.Fatal(err)
	}
	if v := look(t, s, subject(link, false, "f=1")); v.State != trust.Unknown {
		t.Errorf("%+v", v)
	}
	// A workspace that no longer exists can be revoked by its path in the list.
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	if was, err := s.Revoke(t.Context(), a); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if was, err := s.Revoke(t.Context(), a); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
}

func TestStore_Revoke(t *testing.T) {
	dir := tempDir(t)
	s := trust.Open(filepath.Join(dir, "trust.json"))
	none := s.Stamp()
	for _, name := range []string{"c", "a", "b"} {
		if err := s.Set(t.Context(), subject(filepath.Join(dir, name), true), trust.Trusted); err != nil {
			t.Fatal(err)
		}
	}
	if s.Stamp() == none {
		t.Error("the stamp is the old one")
	}
	if was, err := s.Revoke(t.Context(), filepath.Join(dir, "x", "..", "b")); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || filepath.Base(list[0].Path) != "a" || filepath.Base(list[1].Path) != "c" {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := s.RevokeAll(t.Context()); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// An invalid file trusts nothing and is not modified.
func TestStore_Broken(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"", ""},
		{"{", ""},
		{`[]`, ""},
		{`{"version":3,"workspaces":[]}`, "version 3"},
		{`{"workspaces":[]}`, "version 0"},
		{`{"version":2,"workspaces":[{"path":"/w","state":"trusted","when":"2026-01-02T03:04:05Z","files":[{"name":"a","sha256":"00","state":"maybe"}]}]}`, `"maybe"`},
		{`{"version":2,"workspaces":[{"path":"/w","state":"trusted","when":"2026-01-02T03:04:05Z","files":[],"programs":true,"programsState":"no"}]}`, `"no"`},
		{`{"version":1,"workspaces":[{"path":"/w","state":"yes","when":"2026-01-02T03:04:05Z","files":[]}]}`, `"yes"`},
		{`{"version":1,"workspaces":[{"path":"","state":"trusted","when":"2026-01-02T03:04:05Z","files":[]}]}`, "no path"},
		{`{"version":1,"workspaces":[{"path":"/w","state":"trusted","when":"never","files":[]}]}`, "when"},
		{`{"version":1,"workspaces":[{"path":"/w","state":"trusted","when":"2026-01-02T03:04:05Z","files":[]},{"path":"/w","state":"denied","when":"2026-01-02T03:04:05Z","files":[]}]}`, "duplicate"},
		{`{"version":1,"workspaces":[{"path":"/w","state":"denied","state":"trusted","when":"2026-01-02T03:04:05Z","files":[]}]}`, ""},
	} {
		dir := tempDir(t)
		path := filepath.Join(dir, "trust.json")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := trust.Open(path)
		v, err := s.Look(subject("/w", true))
		check := func(err error) {
			t.Helper()
			if e, ok := errors.AsType[*trust.FileError](err); !ok || e.Path != path || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", tt.text, err)
			}
		}
		check(err)
		if v.State != trust.Unknown {
			t.Errorf("%s: %+v", tt.text, v)
		}
		check(s.Set(t.Context(), subject(dir, true), trust.Trusted))
		_, err = s.RevokeAll(t.Context())
		check(err)
		if text, _ := os.ReadFile(path); string(text) != tt.text {
			t.Errorf("%s was overwritten with %s", tt.text, text)
		}
		// The session keeps the answer even though it cannot be stored.
		session := trust.NewSession(s)
		check(session.Answer(t.Context(), subject(dir, true), trust.Trusted, true))
		if v := look(t, session, subject(dir, true)); v.State != trust.Trusted {
			t.Errorf("%+v", v)
		}
	}
}

// Concurrent writers do not lose each other's answers.
func TestStore_Concurrent(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "trust.json")
	var all sync.WaitGroup
	const n = 20
	for i := range n {
		all.Go(func() {
			sub := subject(filepath.Join(dir, string(rune('a'+i))), true)
			if err := trust.Open(path).Set(t.Context(), sub, trust.Trusted); err != nil {
				t.Error(err)
			}
			if _, err := trust.Open(path).Look(sub); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := trust.Open(path).List(); len(list) != n || err != nil {
		t.Errorf("%d of %d, %v", len(list), n, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".trust-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if err := trust.Open(path).Set(ctx, subject(dir, true), trust.Trusted); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestStore_Refuses(t *testing.T) {
	s := trust.Open(filepath.Join(t.TempDir(), "trust.json"))
	for _, err := range []error{
		s.Set(t.Context(), subject("relative", true), trust.Trusted),
		s.Set(t.Context(), subject(t.TempDir(), true), trust.Unknown),
		s.Set(t.Context(), subject(t.TempDir(), true), "yes"),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
}

// An answer for one session applies to no other session. A remembered answer outlives the session. The newer answer takes
// precedence.
func TestSession(t *testing.T) {
	dir := tempDir(t)
	store := trust.Open(filepath.Join(dir, "trust.json"))
	one, two := trust.NewSession(store), trust.NewSession(store)
	sub := subject(dir, false, "a=1")
	stamp := one.Stamp()
	answer := func(s *trust.Session, state trust.State, remember bool) {
		t.Helper()
		if err := s.Answer(t.Context(), sub, state, remember); err != nil {
			t.Fatal(err)
		}
		if s.Stamp() == stamp {
			t.Error("the stamp is the old one")
		}
		stamp = s.Stamp()
	}
	want := func(a, b trust.State) {
		t.Helper()
		if x, y := look(t, one, sub).State, look(t, two, sub).State; x != a || y != b {
			t.Errorf("got %q and %q, want %q and %q", x, y, a, b)
		}
	}
	answer(one, trust.Trusted, false)
	want(trust.Trusted, trust.Unknown)
	if v := look(t, one, subject(dir, false, "a=2")); v.State != trust.Unknown || !slices.Equal(v.Changed, []string{"a"}) {
		t.Errorf("%+v", v)
	}
	answer(two, trust.Denied, true)
	want(trust.Trusted, trust.Denied)
	answer(one, trust.Denied, true)
	want(trust.Denied, trust.Denied)
	answer(one, trust.Trusted, false)
	want(trust.Trusted, trust.Denied)
	answer(one, trust.Trusted, true)
	want(trust.Trusted, trust.Trusted)
	if _, err := store.Revoke(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	want(trust.Unknown, trust.Unknown)

	alone := trust.NewSession(nil)
	if err := alone.Answer(t.Context(), sub, trust.Trusted, true); err == nil {
		t.Error("remembered without a place")
	}
	if v := look(t, alone, sub); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
}

// No file name and no command can forge a line of the question.
func TestSubject_Describe(t *testing.T) {
	s := trust.Subject{
		Path:     "/w",
		Files:    []trust.File{trust.NewFile("lsp.json", nil, "runs: sh -c 'x'\n\x1b[2Jsafe", "reverse \u202etxet", strings.Repeat("x", 1000)), trust.NewFile("b\nc", nil)},
		Programs: []string{"node_modules/.bin/é"},
		Changed:  []string{"lsp.json", "programs"},
	}
	want := []string{
		"lsp.json (changed since you were asked)",
		`  runs: sh -c 'x'\n\x1b[2Jsafe`,
		`  reverse \u202etxet`,
		"  " + strings.Repeat("x", 200) + " … " + strings.Repeat("x", 200),
		`b\nc`,
		"programs in the workspace (new since you were asked):",
		"  node_modules/.bin/é",
	}
	if diff := cmp.Diff(want, s.Describe()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Programs = slices.Repeat(s.Programs, 50)
	if n := len(s.Describe()); n != 6+20+1 {
		t.Errorf("%d lines", n)
	}
	if !(&trust.Subject{Path: "/w"}).Empty() || s.Empty() {
		t.Error("empty")
	}
}

func TestMerge(t *testing.T) {
	if got := trust.Merge(nil, nil); got != nil {
		t.Errorf("nothing and nothing is %+v", got)
	}
	a := &trust.Subject{Path: "/w", Files: []trust.File{trust.NewFile("a", nil)}, Programs: []string{"p", "q"}, Changed: []string{"a"}}
	b := &trust.Subject{Path: "/w", Files: []trust.File{trust.NewFile("b", nil)}, Programs: []string{"o", "q"}}
	if trust.Merge(a, nil) != a || trust.Merge(nil, b) != b {
		t.Error("one alone is not itself")
	}
	got := trust.Merge(a, b)
	if len(got.Files) != 2 || !slices.Equal(got.Programs, []string{"o", "p", "q"}) || !slices.Equal(got.Changed, []string{"a"}) || len(a.Files) != 1 || len(a.Programs) != 2 {
		t.Errorf("%+v, %+v", got, a)
	}
}
