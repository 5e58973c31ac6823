package air_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func meta(t testing.TB, text string) acp.Meta {
	t.Helper()
	var m acp.Meta
	if err := jsonx.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A malformed declaration declares nothing, and is an error for the log only.
func TestParseClient(t *testing.T) {
	for _, tt := range []struct {
		meta          string
		declared, has bool
		err           string
	}{
		{`{}`, false, false, ""},
		{`{"jetbrains":{}}`, false, false, ""},
		{`{"jetbrains":{"air":null}}`, false, false, ""},
		{`{"jetbrains":{"other":1}}`, false, false, ""},
		{`{"jetbrains":{"air":{"version":1,"capabilities":["asyncTasks","hologram"],"more":1}}}`, true, true, ""},
		{`{"jetbrains":{"air":{"version":1.0,"capabilities":["asyncTasks"]}}}`, true, true, ""},
		{`{"jetbrains":{"air":{"version":2,"capabilities":["asyncTasks"]}}}`, true, true, ""}, // it knows version 1 too
		{`{"jetbrains":{"air":{"version":1,"capabilities":[]}}}`, true, false, ""},
		{`{"jetbrains":{"air":{"version":1,"capabilities":["asynctasks"]}}}`, true, false, ""},
		{`{"jetbrains":{"air":{"version":1,"capabilities":[7,"asyncTasks"]}}}`, true, true, "has 7"},
		{`{"jetbrains":{"air":{"version":1,"capabilities":"asyncTasks"}}}`, true, false, "not an array"},
		{`{"jetbrains":{"air":{"version":1}}}`, true, false, "not an array"},
		{`{"jetbrains":{"air":{"version":0,"capabilities":["asyncTasks"]}}}`, false, false, "version is 0"},
		{`{"jetbrains":{"air":{"version":1.5,"capabilities":["asyncTasks"]}}}`, false, false, "version is 1.5"},
		{`{"jetbrains":{"air":{"version":"1","capabilities":["asyncTasks"]}}}`, false, false, `version is "1"`},
		{`{"jetbrains":{"air":{"version":null,"capabilities":["asyncTasks"]}}}`, false, false, "version is null"},
		{`{"jetbrains":{"air":{"capabilities":["asyncTasks"]}}}`, false, false, "version is "},
		{`{"jetbrains":{"air":["asyncTasks"]}}`, false, false, "jetbrains.air"},
		{`{"jetbrains":"air"}`, false, false, "jetbrains"},
	} {
		c, err := air.ParseClient(meta(t, tt.meta))
		if c.Declared != tt.declared || c.Has(air.AsyncTasks) != tt.has || c.Has(air.DiffPatch) {
			t.Errorf("%s: %+v", tt.meta, c)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", tt.meta, err, tt.err)
		}
	}
}

func TestReportRequest(t *testing.T) {
	for _, tt := range []struct {
		request, id string
		ok          bool
	}{
		{`null`, "", true},
		{`{"version":1,"requestId":"aZ9._:-"}`, "aZ9._:-", true},
		{`{"version":1,"requestId":"` + strings.Repeat("x", 128) + `"}`, strings.Repeat("x", 128), true},
		{`{"version":1,"requestId":"` + strings.Repeat("x", 129) + `"}`, "", false},
		{`{"version":1,"requestId":""}`, "", false},
		{`{"version":1,"requestId":"a b"}`, "", false},
		{`{"version":1,"requestId":"é"}`, "", false},
		{`{"version":1,"requestId":7}`, "", false},
		{`{"version":2,"requestId":"a"}`, "", false},
		{`{"version":"1","requestId":"a"}`, "", false},
		{`{"version":1,"requestId":"a","x":1}`, "", false},
		{`{"requestId":"a"}`, "", false},
		{`["a"]`, "", false},
		{`"a"`, "", false},
	} {
		id, err := air.ReportRequest(meta(t, `{"jetbrains":{"air":{"agentFileChangeReportRequest":`+tt.request+`}}}`))
		if (err == nil) != tt.ok || err == nil && id != tt.id {
			t.Errorf("%s: %q, %v", tt.request, id, err)
		}
	}
	for _, text := range []string{`{}`, `{"jetbrains":{"air":{}}}`, `{"jetbrains":{}}`} {
		if id, err := air.ReportRequest(meta(t, text)); id != "" || err != nil {
			t.Errorf("%s: %q, %v", text, id, err)
		}
	}
}

type report struct {
	Version          int      `json:"version"`
	RequestID        string   `json:"requestId"`
	Status           string   `json:"status"`
	Reason           string   `json:"reason"`
	Paths            []string `json:"paths"`
	DeclaredComplete bool     `json:"declaredComplete"`
	Truncated        bool     `json:"truncated"`
	Uncertainty      string   `json:"uncertainty"`
}

func reportOf(t *testing.T, u acp.SessionUpdate) report {
	t.Helper()
	var m struct {
		Air struct {
			Version int    `json:"version"`
			Report  report `json:"agentFileChangeReport"`
		} `json:"air"`
	}
	if _, err := u.(*acp.SessionInfoUpdate).Meta.Get("jetbrains", &m); err != nil || m.Air.Version != 1 {
		t.Fatalf("%v: %+v", err, m)
	}
	return m.Air.Report
}

// A report lists files of the roots only, within the limits, and says so when any is left out.
func TestReport(t *testing.T) {
	root := t.TempDir()
	in := func(name string) string { return filepath.Join(root, name) }
	roots := []string{root, filepath.Join(t.TempDir(), "more")}
	get := func(paths ...string) report {
		return reportOf(t, air.Report("r", roots, &agent.TurnResult{Stop: agent.StopEndTurn, Changes: agent.Changes{Paths: paths}}, true))
	}
	if diff := cmp.Diff(report{Version: 1, RequestID: "r", Status: "reported", Paths: []string{}, DeclaredComplete: true}, get()); diff != "" {
		t.Error(diff)
	}
	more := filepath.Join(roots[1], "b")
	if diff := cmp.Diff([]string{in("a"), more}, get(in("a"), in("x/../a"), more).Paths); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{root, filepath.Dir(root), filepath.Join(filepath.Dir(root), "other"), in("a\nb"), in("\xff"), in(strings.Repeat("x", 4096))} {
		if got := get(in("a"), path); len(got.Paths) != 1 || !got.Truncated || got.DeclaredComplete {
			t.Errorf("%.60q: %+v", path, got)
		}
	}
	var many, long []string
	for i := range 1025 {
		many = append(many, in(fmt.Sprint(i)))
		long = append(long, in(fmt.Sprint(i)+strings.Repeat("x", 1000)))
	}
	if got := get(many...); len(got.Paths) != 1024 || !got.Truncated {
		t.Errorf("%d paths, truncated %t", len(got.Paths), got.Truncated)
	}
	u := air.Report("r", roots, &agent.TurnResult{Changes: agent.Changes{Paths: long, Incomplete: true}}, true)
	raw, _ := jsonx.Marshal(u)
	if got := reportOf(t, u); len(raw) > 256<<10 || len(raw) < 200<<10 || !got.Truncated || got.Uncertainty == "" || got.DeclaredComplete {
		t.Errorf("%d bytes: %+v", len(raw), got.Truncated)
	}
	for reason, r := range map[string]*agent.TurnResult{
		"providerError": {Err: fmt.Errorf("no"), Changes: agent.Changes{Paths: []string{in("a")}}},
		"cancelled":     {Stop: agent.StopCancelled},
		"notReported":   {Stop: agent.StopEndTurn},
	} {
		if diff := cmp.Diff(report{Version: 1, RequestID: "r", Status: "unavailable", Reason: reason}, reportOf(t, air.Report("r", roots, r, false))); diff != "" {
			t.Error(diff)
		}
	}
}

// Each kind of failed model call has a category; a rejected key stays an error of the request.
func TestModelFailure(t *testing.T) {
	for kind, want := range map[providers.ErrorKind]string{
		providers.KindNetwork: "connection [retry]", providers.KindTimeout: "connection [retry]",
		providers.KindRateLimit: "limit [retry]", providers.KindQuota: "limit []", providers.KindContextOverflow: "limit [new_session]",
		providers.KindInvalid: "request []", providers.KindModel: "request []", providers.KindOutput: "request []",
		providers.KindServer: "service [retry]", providers.KindOverloaded: "service [retry]", providers.KindProtocol: "service [retry]",
		agent.ErrorEmptyResponse: "service [retry]", agent.ErrorRepetition: "service [retry]",
	} {
		f, ok := air.ModelFailure("id", "title", &providers.Error{Kind: kind})
		if got := fmt.Sprint(f.Category, " ", f.Actions); !ok || got != want || f.Severity != "error" || f.Revision != 1 || f.Actions == nil {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
	if _, ok := air.ModelFailure("id", "title", &providers.Error{Kind: providers.KindAuth}); ok {
		t.Error("a rejected key is a failure, so the client does not offer to sign in")
	}
	if _, ok := air.Warning("id", &agent.Noticed{Severity: agent.SeverityInfo}); ok {
		t.Error("an information is a failure")
	}
}

func patchOf(t *testing.T, d agent.DiffContent) (text string, ok bool) {
	t.Helper()
	content := air.PatchedContent([]agent.Content{agent.TextContent{Text: "x"}, d})
	diff := content[1].(*acp.Diff)
	var m struct {
		Air struct {
			DiffPatch struct {
				Version int    `json:"version"`
				Format  string `json:"format"`
				Text    string `json:"text"`
			} `json:"diffPatch"`
		} `json:"air"`
	}
	ok, err := diff.Meta.Get("jetbrains", &m)
	p := m.Air.DiffPatch
	if err != nil || ok && (diff.OldText != nil || diff.NewText != "" || p.Format != "git_patch" || p.Version != 1) || !ok && diff.NewText != d.New {
		t.Fatalf("%v: %+v", err, diff)
	}
	return p.Text, ok
}

func TestPatchedContent(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    agent.DiffContent
		want string // empty for none
	}{
		{"change", agent.DiffContent{Path: "/w/a.go", Old: new("one\ntwo\n"), New: "one\n2\n"}, "diff --git a/w/a.go b/w/a.go\n--- a/w/a.go\n+++ b/w/a.go\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{"new", agent.DiffContent{Path: "/w/a.go", New: "x"}, "diff --git a/w/a.go b/w/a.go\nnew file mode 100644\n--- /dev/null\n+++ b/w/a.go\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
		{"emptied", agent.DiffContent{Path: "/w/a", Old: new("x\n")}, "diff --git a/w/a b/w/a\n--- a/w/a\n+++ b/w/a\n@@ -1 +0,0 @@\n-x\n"},
		{"carriage returns", agent.DiffContent{Path: "/w/a", Old: new("x\r\n"), New: "y\r\n"}, "diff --git a/w/a b/w/a\n--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-x\r\n+y\r\n"},
		{"space", agent.DiffContent{Path: "/w/a b", Old: new("x\n"), New: "y\n"}, "diff --git a/w/a b b/w/a b\n--- a/w/a b\t\n+++ b/w/a b\t\n@@ -1 +1 @@\n-x\n+y\n"},
		{"quote", agent.DiffContent{Path: "/w/\"é\t\x01", Old: new("x\n"), New: "y\n"}, "diff --git \"a/w/\\\"é\\t\\001\" \"b/w/\\\"é\\t\\001\"\n--- \"a/w/\\\"é\\t\\001\"\n+++ \"b/w/\\\"é\\t\\001\"\n@@ -1 +1 @@\n-x\n+y\n"},
		{"excerpt", agent.DiffContent{Path: "/w/a", Old: new("a\n@@ -1 +1 @@\nx\n"), New: "a\n@@ -1 +1 @@\ny\n", Skipped: 41}, "diff --git a/w/a b/w/a\n--- a/w/a\n+++ b/w/a\n@@ -42,3 +42,3 @@\n a\n @@ -1 +1 @@\n-x\n+y\n"},
		{"same", agent.DiffContent{Path: "/w/a", Old: new("x"), New: "x"}, ""},
		{"empty", agent.DiffContent{Path: "/w/a"}, ""},
		{"binary", agent.DiffContent{Path: "/w/a", Old: new("x"), New: "y\x00"}, ""},
		{"huge", agent.DiffContent{Path: "/w/a", New: strings.Repeat("x\n", 1<<20)}, ""},
	} {
		if got, ok := patchOf(t, tt.d); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// The patch of any two texts makes the second from the first.
func FuzzPatchedContent(f *testing.F) {
	f.Add("a\nb\n", "a\nc")
	f.Add("", "@@ -1 +1 @@\n")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "2\n3\n4\n5\n6\n7\n8\n9\nx\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		text, ok := patchOf(t, agent.DiffContent{Path: "/w/a", Old: &before, New: after})
		if !ok {
			t.Skip()
		}
		if got := applied(t, text, before); got != after {
			t.Errorf("%q: %q, want %q", text, got, after)
		}
	})
}

// applied applies the hunks of a patch.
func applied(t *testing.T, text, before string) string {
	t.Helper()
	var out []string
	lines, at := strings.SplitAfter(before, "\n"), 0
	for _, line := range strings.SplitAfter(text, "\n")[3:] {
		switch {
		case strings.HasPrefix(line, "@@ "):
			var start int
			if _, err := fmt.Sscanf(line, "@@ -%d", &start); err != nil {
				t.Fatal(err)
			}
			for ; at < start-1; at++ {
				out = append(out, lines[at])
			}
		case strings.HasPrefix(line, "\\"):
			out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n")
		case strings.HasPrefix(line, "+"):
			out = append(out, line[1:])
		case strings.HasPrefix(line, " "):
			out = append(out, line[1:])
			at++
		case strings.HasPrefix(line, "-"):
			at++
		}
	}
	return strings.Join(append(out, lines[at:]...), "")
}

// Whatever a client sends, there is no panic, and only a declared client has capabilities.
func FuzzMeta(f *testing.F) {
	f.Add(`{"jetbrains":{"air":{"version":1,"capabilities":["diffPatch"],"agentFileChangeReportRequest":{"version":1,"requestId":"x"}}}}`)
	f.Add(`{"jetbrains":{"air":{"version":1e999,"capabilities":[[],{},null]}}}`)
	f.Add(`{"jetbrains":7}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m acp.Meta
		if jsonx.Unmarshal([]byte(text), &m) != nil {
			t.Skip()
		}
		c, _ := air.ParseClient(m)
		has := slices.ContainsFunc([]air.Capability{air.DiffPatch, air.SessionFailure, air.FileChangeReport, air.AsyncTasks, air.RecommendedValue}, c.Has)
		if has && !c.Declared {
			t.Errorf("%q: a capability without a declaration", text)
		}
		if id, err := air.ReportRequest(m); err != nil && id != "" && len(id) > 128 {
			t.Errorf("%q: %q with %v", text, id, err)
		}
	})
}
