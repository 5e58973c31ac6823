package code_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// planned returns the paths that a plan declares for an action.
func planned(plan *agent.CallPlan, action approval.Action) []string {
	var paths []string
	for i := range plan.Effects {
		if plan.Effects[i].Action != action {
			continue
		}
		for _, e := range plan.Effects[i].Each() {
			paths = append(paths, e.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// A server opens the files that the parameters of a raw request name, so the request declares them, in any spelling and at any depth.
func TestLSP_H5RequestDeclaresFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		testenv.Skip(t, "the paths are POSIX paths")
	}
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{})
	for _, tt := range []struct {
		payload string
		want    []string
	}{
		{`{"textDocument":{"uri":"file:///etc/passwd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":"FILE:///etc/passwd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":"file:///%65tc/%70asswd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":"file://localhost/etc/passwd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":"file:/etc/passwd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":" \tfi\nle:///etc/passwd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":"file:\\\\\\etc\\passwd"}}`, []string{"/etc/passwd"}},
		{`{"textDocument":{"uri":"file:///etc/passwd#L1"}}`, []string{"/etc/passwd", "/etc/passwd#L1"}},
		{`{"textDocument":{"uri":"file:///etc/passwd?x=1"}}`, []string{"/etc/passwd", "/etc/passwd?x=1"}},
		{`{"textDocument":{"uri":"file:///w/x#/../../etc/passwd"}}`, []string{"/etc/passwd", "/w/x"}},
		{`{"any":[{"deep":[["file:///etc/passwd"]]}]}`, []string{"/etc/passwd"}},
		{`{"changes":{"file:///etc/passwd":[]}}`, []string{"/etc/passwd"}},
		{`{"data":"{\"uri\":\"file:///etc/passwd\"}"}`, []string{"/etc/passwd"}},
		{`["jar:file:///etc/a.jar!/b"]`, []string{"/etc/a.jar", "/etc/a.jar!/b"}},
		{`{"uri":"untitled:/etc/passwd"}`, []string{"/etc/passwd"}},
		{`{"uri":"zipfile:///etc/a.zip::b"}`, []string{"/etc/a.zip", "/etc/a.zip::b"}},
		{`{"rootPath":"/etc"}`, []string{"/etc"}},
		{`{"item":{"fsPath":"/etc/passwd","unknown":"/etc/group"}}`, []string{"/etc/group", "/etc/passwd"}},
		{`{"paths":["../out/x"]}`, []string{filepath.Join(filepath.Dir(w.Dir), "out/x")}},
		{`{"targetUri":".env"}`, []string{w.Path(".env")}},
		{`{"query":"/etc/passwd","text":"file: nothing","position":{"line":1,"character":2}}`, nil},
		{`{"uri":"https://example.com/etc"}`, nil},
		{`{"uri":"jdt://contents/rt.jar/a"}`, nil},
		{`{"context":{"only":["source.organizeImports"]}}`, nil},
	} {
		p := toolstest.MustPlan(t, w, "lsp", toolstest.Input{"action": "request", "query": "textDocument/hover", "payload": tt.payload})
		if diff := cmp.Diff(tt.want, planned(p, approval.ActionRead)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.payload, diff)
		}
		if edits := planned(p, approval.ActionEdit); edits != nil {
			t.Errorf("%s: edits of %q", tt.payload, edits)
		}
	}
}

// The files of a method that may change files are edited. A directory is not: permission to change one would cover all that is in it.
func TestLSP_H5RequestDeclaresEdits(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n", "sub/b.x": ""}, serverScript{})
	for _, method := range []string{"workspace/executeCommand", "workspace/applyEdit", "textDocument/rename", "x/unknown"} {
		payload := `{"arguments":["` + fileURI(w.Path("a.x")) + `",{"dir":"` + fileURI(w.Path("sub")) + `"}]}`
		p := toolstest.MustPlan(t, w, "lsp", toolstest.Input{"action": "request", "query": method, "payload": payload})
		if got := planned(p, approval.ActionEdit); !slices.Equal(got, []string{w.Path("a.x")}) {
			t.Errorf("%s: edits of %q", method, got)
		}
		if got := planned(p, approval.ActionRead); !slices.Equal(got, []string{w.Path("sub")}) {
			t.Errorf("%s: reads of %q", method, got)
		}
	}
}

// A server may fetch what the parameters of a raw request name on the web, so the request declares the hosts, and asks as the network does.
func TestLSP_RequestDeclaresHosts(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{})
	for _, tt := range []struct {
		payload string
		want    []string
	}{
		{`{"uri":"https://example.com/etc"}`, []string{"example.com"}},
		{`{"uri":" HTTP:\\\\Example.COM:8080\\x"}`, []string{"example.com"}},
		{`{"uri":"https:example.com"}`, []string{"example.com"}},
		{`{"uri":"https://user@evil.example:443/?a=https://b.example"}`, []string{"evil.example"}},
		{`["jar:https://example.com/a.jar!/b", {"deep":"{\"url\":\"http://[::1]/\"}"}]`, []string{"::1", "example.com"}},
		{`{"schemas":{"https://example.com/schema":["*.x"]}}`, []string{"example.com"}},
		{`{"newText":"see https://example.com","query":"https://example.com"}`, nil},
		{`{"uri":"file:///etc/https://example.com"}`, nil},
	} {
		p := toolstest.MustPlan(t, w, "lsp", toolstest.Input{"action": "request", "query": "textDocument/hover", "payload": tt.payload})
		var hosts []string
		for i := range p.Effects {
			if e := &p.Effects[i]; e.Action == approval.ActionNetwork {
				hosts = append(hosts, e.Host)
			}
		}
		if diff := cmp.Diff(tt.want, hosts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.payload, diff)
		}
	}
	for payload, says := range map[string]string{
		`{"uri":"https:"}`: "is malformed; write https://host/path", `{"uri":"https://a b/"}`: "is malformed; write https://host/path",
		`["http://a","http://b","http://c","http://d","http://e","http://f","http://g","http://h","http://i","http://j","http://k"]`: "more than 10 hosts",
	} {
		err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "request", "query": "textDocument/hover", "payload": payload})
		toolstest.Contains(t, err.Error(), "invalid tool input for lsp", says)
	}
}

// A URI that servers may read in different ways is refused.
func TestLSP_H5MalformedURI(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{})
	for uri, says := range map[string]string{
		"file:///etc/%zz": "invalid URL escape", "file:etc/passwd": "its path is not absolute", "file://": "it has no path", "file:": "its path is not absolute",
		"file:///etc/passwd%00.x": "it contains a NUL byte",
	} {
		err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "request", "query": "textDocument/hover", "payload": `{"textDocument":{"uri":"` + uri + `"}}`})
		toolstest.Contains(t, err.Error(), "invalid tool input for lsp: the URI", "is malformed: "+says)
	}
	if runtime.GOOS != "windows" {
		err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "request", "query": "textDocument/hover", "payload": `{"textDocument":{"uri":"file://evil.example/etc/passwd"}}`})
		toolstest.Contains(t, err.Error(), `it is on the host "evil.example"`)
	}
	if active := w.Languages.Active(); len(active) > 0 {
		t.Errorf("%d servers were started", len(active))
	}
}
