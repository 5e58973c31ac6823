package sessions_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if testenv.Update() {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readFile(t, path), got); diff != "" {
		t.Errorf("%s (-want +got), rewrite it with -update:\n%s", path, diff)
	}
}

func conversation() []providers.Message {
	ask := user("Please <b>fix</b> the test & tell me\n\n```go\nx := 1\n```\n")
	ask.Time = epoch
	ask.Parts = append(ask.Parts, providers.Image{MIMEType: "image/png", Data: []byte("png")},
		providers.Image{MIMEType: "image/svg+xml", Data: []byte("<svg onload=alert(1)>")})
	call := assistant("I will look.")
	call.Parts = append([]providers.Part{providers.Thinking{Text: "first\n\nthen"}}, call.Parts...)
	call.Parts = append(call.Parts, providers.ToolCall{ID: "c1", Name: "read", Input: raw(`{"path":"a.md","n":1}`)},
		providers.ToolCall{ID: "c2", Name: "bash", Input: raw(`{"command":"go te`)})
	result := providers.Message{Role: providers.RoleTool, ToolCallID: "c1", ToolName: "read", Parts: []providers.Part{
		providers.Text{Text: "```\nfenced\n````\n"},
	}}
	failed := providers.Message{Role: providers.RoleTool, ToolCallID: "c2", ToolName: "bash", IsError: true, Parts: []providers.Part{
		providers.Text{Text: "<script>alert(1)</script>\x00\xff"},
	}}
	broken := assistant("")
	broken.Error = "the connection <broke>\nagain"
	return []providers.Message{ask, call, result, failed, broken}
}

var transcriptOptions = sessions.TranscriptOptions{Title: "Fix <the>\ntest", ID: "s1", Cwd: "/w/demo", Model: "p/m"}

func TestTranscript_Golden(t *testing.T) {
	golden(t, "transcript.golden.md", sessions.Transcript(conversation(), &transcriptOptions))
	golden(t, "transcript.golden.html", sessions.HTML(conversation(), &transcriptOptions))
}

func TestTranscript_Options(t *testing.T) {
	for name, render := range map[string]func([]providers.Message, *sessions.TranscriptOptions) string{
		"markdown": sessions.Transcript, "html": sessions.HTML,
	} {
		if got := render(nil, nil); !strings.Contains(got, "Session") {
			t.Errorf("%s of nothing: %q", name, got)
		}
		long := providers.Message{Role: providers.RoleTool, ToolName: "t", Parts: []providers.Part{providers.Text{Text: "aaaéééé"}}}
		messages := append(conversation(), long)
		got := render(messages, &sessions.TranscriptOptions{HideThinking: true, MaxResult: 4})
		if strings.Contains(got, "Thinking") || !strings.Contains(got, "aaa\n… (8 more bytes)") || strings.Contains(got, "é") {
			t.Errorf("%s:\n%s", name, got)
		}
		if strings.Contains(got, "Directory") || strings.Contains(got, "Model") {
			t.Errorf("%s tells what it was not told:\n%s", name, got)
		}
	}
}

var (
	tags  = regexp.MustCompile(`<[^>]*>`)
	known = regexp.MustCompile(`^<(/?(html|head|title|style|body|h1|h2|ul|li|div|details|summary|pre|p|time)|!DOCTYPE html|meta [^<>]*|` +
		`html lang="en"|h2 class="(user|assistant)"|div class="text"|summary class="failed"|p class="failed"|` +
		`img alt="" src="data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*")>$`)
)

// Nothing that was said becomes a tag, and all of it can be read.
func FuzzHTML(f *testing.F) {
	f.Add("<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "image/png", []byte{1})
	f.Add("</pre></details>\x00", "\xff\xfe", `image/png"onload="x`, []byte{})
	f.Fuzz(func(t *testing.T, text, name, mime string, data []byte) {
		m := assistant(text)
		m.Error, m.Model = text, name
		m.Parts = append(m.Parts, providers.Thinking{Text: text}, providers.ToolCall{Name: name, Input: raw(text)},
			providers.Image{MIMEType: mime, Data: data})
		result := providers.Message{Role: providers.RoleTool, ToolName: name, Parts: m.Parts}
		got := sessions.HTML([]providers.Message{m, result}, &sessions.TranscriptOptions{Title: text, ID: name, Cwd: text})
		for _, tag := range tags.FindAllString(got, -1) {
			if !known.MatchString(tag) {
				t.Fatalf("tag %q in\n%s", tag, got)
			}
		}
		plain := html.UnescapeString(tags.ReplaceAllString(got, ""))
		want := strings.ReplaceAll(strings.Trim(strings.ToValidUTF8(text, "\ufffd"), "\n"), "\x00", "\ufffd")
		if strings.TrimSpace(text) != "" && !strings.Contains(plain, want) {
			t.Fatalf("%q is not in\n%s", want, plain)
		}
	})
}
