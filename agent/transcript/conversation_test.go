package transcript_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// branch links entries, a minute apart.
type branch struct{ entries []sessions.Entry }

func (b *branch) base() sessions.Base {
	n := len(b.entries)
	ref := sessions.Base{ID: fmt.Sprintf("%08x", n+1), Time: time.Date(2026, 3, 1, 10, n, 0, 0, time.UTC)}
	if n > 0 {
		ref.ParentID = fmt.Sprintf("%08x", n)
	}
	return ref
}

func (b *branch) message(m providers.Message) {
	role := string(m.Role)
	b.entries = append(b.entries, sessions.MessageEntry{Base: b.base(), Role: role, Message: m})
}

func (b *branch) user(parts ...providers.Part) {
	b.message(providers.Message{Role: providers.RoleUser, Parts: parts})
}

func (b *branch) answer(used int, parts ...providers.Part) {
	b.message(providers.Message{
		Role: providers.RoleAssistant, Provider: "acme", Model: "m1", StopReason: providers.StopEnd, Parts: parts,
		Usage: providers.Usage{Input: used / 10, CacheRead: used - used/10 - 100, Output: 100},
	})
}

func (b *branch) result(id, tool, text, details string, failed bool) {
	b.message(providers.Message{
		Role: providers.RoleTool, ToolCallID: id, ToolName: tool, IsError: failed, Details: jsonx.Raw(details),
		Parts: []providers.Part{providers.Text{Text: text}},
	})
}

func text(s string) providers.Text { return providers.Text{Text: s} }

func call(id, name, input string) providers.ToolCall {
	return providers.ToolCall{ID: id, Name: name, Input: jsonx.Raw(input)}
}

// picture is a small PNG.
func picture() providers.Image {
	img := image.NewRGBA(image.Rect(0, 0, 160, 60))
	for x := range 160 {
		for y := range 60 {
			img.Set(x, y, color.RGBA{uint8(x), uint8(4 * y), 180, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // writing to a buffer cannot fail
	return providers.Image{MIMEType: "image/png", Data: b.Bytes()}
}

const reply = "## What I found\n\nThe test fails because `parse` *drops* the **last** line, see [the docs](https://example.com/a?b=1&c=2) and [this](javascript:alert(1)), ~~not~~ <b>really</b>.\n\n" +
	"1. Read the file\n   - with `bufio.Scanner`\n     - and a limit\n2. Fix it\n\n- [x] reproduce\n- [ ] fix\n\n" +
	"| Case | Want | Got |\n|:-----|:----:|----:|\n| empty | 0 | 0 |\n| one line | 1 | 0 |\n\n" +
	"> A line without its newline is a line too.\n\n---\n\n" +
	"```go\n// count counts lines.\nfunc count(r io.Reader) (n int, err error) {\n\ts := bufio.NewScanner(r)\n\tfor s.Scan() {\n\t\tn++\n\t}\n\treturn n, fmt.Errorf(\"count %d: %w\", 42, s.Err())\n}\n```\n\n" +
	"```python\n# the same\ndef count(path: str) -> int:\n    with open(path) as f:\n        return sum(1 for _ in f)  # 'all' lines\n```\n"

const longLine = "a_very_long_line_without_any_blank_" + "abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz"

// conversation has all kinds of entries.
func conversation() *transcript.Session {
	b := new(branch)
	b.entries = append(b.entries, sessions.ModelChange{Base: b.base(), Model: "acme/m1"})
	b.entries = append(b.entries, sessions.ThinkingChange{Base: b.base(), Level: providers.ThinkingLow})
	b.user(text("Please <b>fix</b> the test & tell me\n\n\tgo test ./... # it fails\n"+longLine), picture(),
		providers.Image{MIMEType: "image/svg+xml", Data: []byte("<svg onload=alert(1)>")})
	b.answer(12000, providers.Thinking{Text: "First I *look*.\n\nThen I "}, providers.Thinking{Text: "think."}, text("I will "), text("look."),
		call("c0", "todo_write", `{"todos":[{"content":"Find the cause","status":"in_progress"},{"content":"Fix <it>"}]}`),
		call("c1", "read", `{"path":"lines.go"}`))
	b.result("c0", "todo_write", "ok", `{"title":"Plan: 2 steps","kind":"think","content":[{"type":"text","text":"2 steps"}]}`, false)
	b.result("c1", "read", "package lines\n", `{"title":"Read lines.go","kind":"read","content":[{"type":"text","text":"`+"```go\\npackage lines\\n\\nfunc count() int { return 1 }\\n```"+`"}],"locations":[{"path":"/w/demo/lines.go","line":3}]}`, false)
	b.answer(31000, text(reply))
	b.user(text("Do it.\n\n```sh\ngo test ./lines\n```\n"))
	b.entries = append(b.entries, sessions.Label{Base: b.base(), TargetID: b.entries[len(b.entries)-1].Ref().ID, Label: "the fix"})
	b.answer(48000, text("Here it comes."),
		call("c2", "edit", `{"path":"lines.go","old":"n - 1","new":"n"}`), call("c3", "bash", `{"command":"go test ./..."}`))
	b.result("c2", "edit", "edited", `{"title":"Edit lines.go","kind":"edit","content":[{"type":"diff","path":"/w/demo/lines.go","oldText":"package lines\n\nfunc count(n int) int {\n\treturn n - 1\n}\n","newText":"package lines\n\n// count is <right>.\nfunc count(n int) int {\n\treturn n\n}\n"}],"locations":[{"path":"/w/demo/lines.go","line":3}]}`, false)
	b.result("c3", "bash", "--- FAIL: TestCount\n</pre><script>alert(1)</script>\x00\xff", `{"title":"go test ./...","kind":"execute","content":[{"type":"text","text":"$ go test ./..."},{"type":"terminal","terminalId":"t1"}],"raw":{"exitCode":1,"durationMs":1234}}`, true)
	b.message(providers.Message{Role: providers.RoleAssistant, Provider: "acme", Model: "m1", StopReason: providers.StopError, Error: "the connection <broke>"})
	b.entries = append(b.entries, sessions.Compaction{Base: b.base(), Summary: "The user wants **lines.go** fixed.\n\n- read it\n- changed it", FirstKeptEntryID: "00000008", TokensBefore: 48000, Details: jsonx.Raw(`{"reason":"threshold","tokensAfter":8000}`)})
	b.entries = append(b.entries, sessions.BranchSummary{Base: b.base(), Summary: "Tried a regular expression; it was slow."})
	b.entries = append(b.entries, sessions.CustomMessage{Base: b.base(), CustomType: "hint", Display: true, Parts: []providers.Part{text("Background job 1 has ended.")}})
	b.entries = append(b.entries, sessions.CustomMessage{Base: b.base(), CustomType: "secret", Parts: []providers.Part{text("hidden words")}})
	b.entries = append(b.entries, sessions.ModeChange{Base: b.base(), Mode: "plan"})
	b.answer(9000, text("Goes on from the summary."),
		call("c4", "todo_write", `{"todos":[{"content":"Find the cause","status":"completed"},{"content":"Fix <it>","status":"in_progress"},{"content":"Write a test","phase":"Tests"},{"content":"Rewrite it","phase":"Tests","status":"abandoned"}]}`))
	b.result("c4", "todo_write", "ok", "", false)
	b.answer(15000, text("One more."), call("c5", "write", `{"path":"new.txt","content":"x"}`))
	return &transcript.Session{
		ID: "01990000-0000-7000-8000-000000000001", Title: "Fix <the>\ntest", Cwd: "/w/demo", Directories: []string{"/w/lib"}, Model: "acme/m1",
		Branch: b.entries,
		Models: func(ref string) (providers.ModelInfo, bool) {
			if ref != "acme/m1" {
				return providers.ModelInfo{}, false
			}
			return providers.ModelInfo{Provider: "acme", ID: "m1", ContextWindow: 100000, Cost: providers.Cost{Input: 3, Output: 15, CacheRead: 0.3}}, true
		},
	}
}

// folds returns a conversation with a long diff, which is folded, in its second turn.
func folds() *transcript.Session {
	b := new(branch)
	b.user(text("first"))
	var added strings.Builder
	for i := range 60 {
		fmt.Fprintf(&added, "line %d of the file\\n", i)
	}
	added.WriteString("the needle is here\\n")
	b.answer(1000, call("c1", "write", `{"path":"long.txt"}`))
	b.result("c1", "write", "ok", `{"title":"Write long.txt","kind":"edit","content":[{"type":"diff","path":"/w/demo/long.txt","newText":"`+added.String()+`"}]}`, false)
	b.user(text("second"))
	b.answer(2000, text(strings.Repeat("Text fills the page.\n\n", 60)), call("c2", "read", `{"path":"x"}`))
	b.result("c2", "read", "a haystack", `{"title":"Read x","kind":"read","content":[{"type":"text","text":"a haystack with `+strings.Repeat("hay ", 5)+`and a pin"}]}`, false)
	return &transcript.Session{ID: "1", Cwd: "/w/demo", Branch: b.entries}
}
