package lsp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

func messages(list []protocol.Diagnostic) []string {
	got := []string{}
	for _, d := range list {
		got = append(got, d.Message)
	}
	slices.Sort(got)
	return got
}

// shortly returns a context for a wait that must time out.
func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(in(t), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestDiagnostics_OfPresentText(t *testing.T) {
	for _, kind := range []string{"versioned", "plain"} {
		t.Run(kind, func(t *testing.T) {
			s := start(t, script{Publish: kind, Late: true}, nil)
			d := s.hold("a b+c.go", "BUG 1")
			if list, fresh, err := d.Diagnostics(shortly(t)); list != nil || fresh || err != nil {
				t.Errorf("before it spoke: %v, %v, %v", list, fresh, err)
			}
			ask[any](s, "test/release", nil)
			if list, fresh, err := d.Diagnostics(in(t)); len(list) != 1 || !fresh || err != nil {
				t.Errorf("%v, %v, %v", list, fresh, err)
			}
			d.Release()
			d = s.hold("a b+c.go", "BUG 2")
			ask[any](s, "test/echo", 1) // the server has received the text
			// Diagnostics of the earlier text do not count for this one.
			if list, fresh, err := d.Diagnostics(shortly(t)); len(list) != 1 || list[0].Message != "a bug: BUG 1" || fresh || err != nil {
				t.Errorf("of the text before: %v, %v, %v", list, fresh, err)
			}
			d.Release()
			d = s.hold("a b+c.go", "BUG 3")
			defer d.Release()
			waits := make(chan []string)
			go func() {
				list, fresh, err := d.Diagnostics(in(t))
				if !fresh || err != nil {
					t.Error(fresh, err)
				}
				waits <- messages(list)
			}()
			ask[any](s, "test/release", nil) // release the diagnostics of version 2, then of 3
			if got := <-waits; !slices.Equal(got, []string{"a bug: BUG 3"}) {
				t.Errorf("%q", got)
			}
			if got := messages(s.Published(d.Path)); !slices.Equal(got, []string{"a bug: BUG 3"}) {
				t.Errorf("published: %q", got)
			}
		})
	}
}

// TestDiagnostics_SameTextAgain checks that opening the same text again does not need new diagnostics.
func TestDiagnostics_SameTextAgain(t *testing.T) {
	s := start(t, script{Publish: "versioned"}, nil)
	for range 3 {
		d := s.hold("a.go", "BUG")
		if list, fresh, err := d.Diagnostics(in(t)); len(list) != 1 || !fresh || err != nil {
			t.Errorf("%v, %v, %v", list, fresh, err)
		}
		d.Release()
		// A change that did not reach the server has no effect.
		ended, cancel := context.WithCancel(in(t))
		cancel()
		if _, err := s.Hold(ended, d.Path, "something else"); err == nil {
			t.Error("Hold succeeded after the end of its context")
		}
	}
}

func TestDiagnostics_Malformed(t *testing.T) {
	s := start(t, script{}, nil)
	d := s.hold("a.go", "x")
	defer d.Release()
	uri := strings.Replace(s.uri("a.go"), "a.go", "%61.go", 1) // encoded unnecessarily
	s.notifies("textDocument/publishDiagnostics", fmt.Sprintf(`{"uri":%q,"version":null,"diagnostics":[
		{"range":{"start":{"line":-1,"character":1e3},"end":{"line":4294967296,"character":2.0}},"severity":9,"message":"\u00e4\n\"x\"","code":"C\u00e4","tags":[1,2],
		 "codeDescription":{"href":"https://example.invalid/"},"relatedInformation":[{"location":{"uri":"file:///r","range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4}}},"message":"see"}],"data":{"k":[1,{"a":"}"}]},"unknown":[{"x":1}]},
		5, null, "text", [], {"message":{"kind":"markdown","value":"**marked**"},"code":12,"range":null}, {}
	],"more":{}}`, uri))
	list, fresh, err := d.Diagnostics(in(t))
	if err != nil || !fresh || len(list) != 3 {
		t.Fatalf("%v, %v, %v", list, fresh, err)
	}
	want := protocol.Diagnostic{
		Range:    protocol.Range{Start: protocol.Position{Character: 1000}, End: protocol.Position{Line: 1<<32 - 1, Character: 2}},
		Severity: 4, Message: "ä\n\"x\"", Code: "Cä", Tags: []protocol.DiagnosticTag{1, 2},
		CodeDescription: &protocol.CodeDescription{Href: "https://example.invalid/"},
		RelatedInformation: []protocol.DiagnosticRelatedInformation{{
			Location: protocol.Location{URI: "file:///r", Range: protocol.Range{Start: protocol.Position{Line: 1, Character: 2}, End: protocol.Position{Line: 3, Character: 4}}}, Message: "see",
		}},
		Data: jsonx.Raw(`{"k":[1,{"a":"}"}]}`),
	}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Error(diff)
	}
	if list[1].Message != "**marked**" || list[1].Code != int32(12) {
		t.Errorf("%+v", list[1])
	}
	// The data of a diagnostic is returned unchanged.
	if back, err := jsonx.Marshal(list[0]); err != nil || !strings.Contains(string(back), `"data":{"k":[1,{"a":"}"}]}`) {
		t.Errorf("%s, %v", back, err)
	}
	for _, params := range []string{`{}`, `[]`, `{"uri":5,"diagnostics":{}}`, `{"uri":"untitled:x","diagnostics":[]}`} {
		s.notifies("textDocument/publishDiagnostics", params)
	}
}

func TestDiagnostics_Pull(t *testing.T) {
	s := start(t, script{Capabilities: map[string]any{"diagnosticProvider": map[string]any{"workspaceDiagnostics": true}}}, nil)
	for n := range 2 { // the second answer is "unchanged"
		d := s.hold("a.go", "x\nBUG\n")
		list, fresh, err := d.Diagnostics(in(t))
		if err != nil || !fresh || !slices.Equal(messages(list), []string{"a bug: BUG"}) {
			t.Errorf("%d: %v, %v, %v", n, list, fresh, err)
		}
		if n == 0 {
			d.Release()
			continue
		}
		// Published diagnostics are not added twice.
		s.notifies("textDocument/publishDiagnostics", fmt.Sprintf(`{"uri":%q,"version":%d,"diagnostics":[
			{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":3}},"code":12,"message":"a bug: BUG"},
			{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"message":"pushed"}]}`, s.uri("a.go"), d.Version))
		list, _, err = d.Diagnostics(in(t))
		if err != nil || !slices.Equal(messages(list), []string{"a bug: BUG", "pushed"}) {
			t.Errorf("%d: %v, %v", n, list, err)
		}
		d.Release()
	}
	if got := messages(s.Published("/related/x.go")); !slices.Equal(got, []string{"a bug: BUG"}) {
		t.Errorf("the related file: %q", got)
	}
	byPath, ok, err := s.PullWorkspace(in(t))
	if err != nil || !ok || len(byPath) != 1 || len(byPath[s.path("a.go")]) != 1 {
		t.Errorf("%v, %v, %v", byPath, ok, err)
	}
}

func TestDiagnostics_PullFromSeveralSources(t *testing.T) {
	s := start(t, script{}, nil)
	d := s.hold("a.go", "BUG")
	defer d.Release()
	register := func(id string) {
		s.asked("client/registerCapability", fmt.Sprintf(`{"registrations":[{"id":%q,"method":"textDocument/diagnostic","registerOptions":{"identifier":%q,"documentSelector":[{"language":"go"}]}}]}`, id, id))
	}
	if _, ok, err := s.PullWorkspace(in(t)); ok || err != nil {
		t.Error(ok, err)
	}
	register("broken")
	list, fresh, err := d.Diagnostics(in(t))
	if err == nil || fresh || !strings.Contains(err.Error(), "this source is broken") {
		t.Errorf("the only source is broken: %v, %v, %v", list, fresh, err)
	}
	register("fine")
	list, fresh, err = d.Diagnostics(in(t))
	if err != nil || !fresh || len(list) != 1 {
		t.Errorf("one of two is broken: %v, %v, %v", list, fresh, err)
	}
}

// TestDiagnostics_Bounded checks that the diagnostics of a hostile server are bounded: newer ones replace its older ones.
func TestDiagnostics_Bounded(t *testing.T) {
	s := start(t, script{}, nil)
	one := `{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":3}},"message":"m"}`
	s.notifies("textDocument/publishDiagnostics", `{"uri":"file:///a","diagnostics":[`+strings.Repeat(one+",", 30_000)+one+`]}`)
	if n := len(s.Published("/a")); n != 20_000 {
		t.Errorf("%d of one file", n)
	}
	if files, size := lsp.PublishedSize(2<<20, 200); files != 64<<20/(2<<20) || size > 64<<20 {
		t.Errorf("%d files of %d bytes are kept", files, size)
	}
	if files, _ := lsp.PublishedSize(10, 50_000); files != 20_000 {
		t.Errorf("%d files are kept", files)
	}
}

func FuzzDecodeDiagnostics(f *testing.F) {
	f.Add([]byte(`{"uri":"file:///a","version":1,"diagnostics":[{"range":{"start":{"line":1,"character":2},"end":{}},"message":"x","code":1.5e3,"data":[]}]}`))
	f.Add([]byte(`[{"a":"\"}"}]`))
	f.Add([]byte(` {"diagnostics" : [ null , { "message" : "\ud83d" } ] } `))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !jsonx.Valid(data) {
			return
		}
		uri, list := lsp.DecodePublication(data)
		var want struct {
			URI         any         `json:"uri"`
			Diagnostics []jsonx.Raw `json:"diagnostics"`
		}
		if jsonx.Unmarshal(data, &want) != nil {
			return // not of the expected form
		}
		if s, _ := want.URI.(string); s != uri {
			t.Errorf("%q, want %q", uri, s)
		}
		n := 0
		for _, raw := range want.Diagnostics {
			if raw.Kind() != '{' {
				continue
			}
			var d struct {
				Message any `json:"message"`
			}
			if jsonx.Unmarshal(raw, &d) != nil {
				return
			}
			if s, ok := d.Message.(string); ok && n < len(list) && list[n].Message != s {
				t.Errorf("%q, want %q", list[n].Message, s)
			}
			n++
		}
		if n != len(list) {
			t.Errorf("%d of %d", len(list), n)
		}
	})
}
