package sessions_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func blobDir(s *sessions.Store) string { return filepath.Join(filepath.Dir(s.Dir()), "blobs") }

func refOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "blob:sha256:" + hex.EncodeToString(sum[:])
}

func blobs(t *testing.T, s *sessions.Store) []string {
	t.Helper()
	entries, err := os.ReadDir(blobDir(s))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func imageMessage(data []byte) providers.Message {
	m := user("look")
	m.Parts = append(m.Parts, providers.Image{MIMEType: "image/png", Data: data})
	return m
}

func TestBlobs_LargeImagesAreFilesOfTheirOwn(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	// 765 bytes have 1020 characters in base64, 768 have 1024.
	small, large := bytes.Repeat([]byte{1}, 765), bytes.Repeat([]byte{2}, 768)
	want := []providers.Message{imageMessage(small), imageMessage(large), imageMessage(large)}
	for _, m := range want {
		appendMessage(t, l, m)
	}
	text := readFile(t, l.Path())
	if strings.Count(text, refOf(large)) != 2 || strings.Contains(text, refOf(small)) {
		t.Errorf("the file is\n%s", text)
	}
	if diff := cmp.Diff([]string{strings.TrimPrefix(refOf(large), "blob:sha256:")}, blobs(t, s)); diff != "" {
		t.Errorf("blobs (-want +got):\n%s", diff)
	}
	for range 2 {
		for i, m := range allMessages(t, l) {
			if diff := cmp.Diff(want[i].Parts, m.Parts); diff != "" {
				t.Errorf("message %d (-want +got):\n%s", i, diff)
			}
		}
		closeLog(t, l)
		l = open(t, s, l.ID())
	}
	if len(l.Notices()) > 0 {
		t.Errorf("notices: %q", l.Notices())
	}
}

func TestBlobs_OfDetails(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	data := bytes.Repeat([]byte{3, 4}, 500)
	encoded := base64.StdEncoding.EncodeToString(data)
	details := raw(`{"content":[{"type":"image","data":"` + encoded + `","mimeType":"image/png"},{"type":"text","data":"` + encoded + `"}],"n":1.50}`)
	appendMessage(t, l, providers.Message{Role: providers.RoleTool, ToolCallID: "c", ToolName: "read", Details: details})
	if text := readFile(t, l.Path()); strings.Count(text, refOf(data)) != 1 || strings.Count(text, encoded) != 1 {
		t.Errorf("the file is\n%s", text)
	}
	got := allBranch(t, l)[0].(sessions.MessageEntry).Message.Details
	var is, want any
	if jsonx.Unmarshal(got, &is) != nil || jsonx.Unmarshal(details, &want) != nil || !cmp.Equal(is, want) {
		t.Errorf("details = %s", got)
	}
}

func TestBlobs_MissingOrDamagedIsANotice(t *testing.T) {
	data := bytes.Repeat([]byte{5}, 2000)
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte{6}, 2000), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 100) },
	} {
		s := newStore(t)
		l := create(t, s)
		appendMessage(t, l, imageMessage(data))
		closeLog(t, l)
		if err := spoil(filepath.Join(blobDir(s), blobs(t, s)[0])); err != nil {
			t.Fatal(err)
		}
		l = open(t, s, l.ID())
		if got := allMessages(t, l)[0].Parts[1]; !cmp.Equal(got, providers.Part(providers.Text{Text: "[an image that is no longer stored]"})) {
			t.Errorf("%s: image = %v", name, got)
		}
		if n := l.Notices(); len(n) != 1 || !strings.Contains(n[0], "image is lost") {
			t.Errorf("%s: notices = %q", name, n)
		}
		// The reference stays in the file, and storing the same image restores the blob.
		appendMessage(t, l, imageMessage(data))
		closeLog(t, l)
		l = open(t, s, l.ID())
		for _, m := range allMessages(t, l) {
			if diff := cmp.Diff(imageMessage(data).Parts, m.Parts); diff != "" {
				t.Errorf("%s: repaired (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestPersist_LongTextsAreCut(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	long := strings.Repeat("é", 500_001)
	most := strings.Repeat("é", 500_000)
	m := providers.Message{
		Role: providers.RoleAssistant, API: "a", Provider: "p", Model: "m", StopReason: providers.StopEnd, Parts: []providers.Part{
			providers.Text{Text: long, Signature: "kept"},
			providers.Text{Text: most},
			providers.Thinking{Text: "short", Signature: long},
			providers.Thinking{Redacted: true, Signature: long},
			providers.ToolCall{ID: "c", Name: "write", Input: raw(fmt.Sprintf(`{"content":%q,"lineCount":9,"n":1e3}`, strings.Repeat("x\n", 300_000))), Signature: long},
		},
	}
	appendMessage(t, l, m)
	if size := len(readFile(t, l.Path())); size > 3_000_000 {
		t.Errorf("the file has %d bytes", size)
	}
	if diff := cmp.Diff(m.Parts, allMessages(t, l)[0].Parts); diff != "" {
		t.Error("what is in memory was cut")
	}
	closeLog(t, l)
	parts := allMessages(t, open(t, s, l.ID()))[0].Parts
	if len(parts) != 4 {
		t.Fatalf("%d parts", len(parts))
	}
	const notice = "\n\n[Session persistence truncated large content]"
	text := parts[0].(providers.Text)
	if !strings.HasSuffix(text.Text, notice) || utf8.RuneCountInString(text.Text) != 500_000 || parts[1].(providers.Text).Text != most || text.Signature != "kept" ||
		strings.Trim(strings.TrimSuffix(text.Text, notice), "é") != "" {
		t.Errorf("text: %d bytes, ends %q", len(text.Text), text.Text[len(text.Text)-60:])
	}
	if got := parts[2].(providers.Thinking); got.Text != "short" || got.Signature != "" {
		t.Errorf("thinking %q with %d bytes of signature", got.Text, len(got.Signature))
	}
	var input struct {
		Content   string `json:"content"`
		LineCount int    `json:"lineCount"`
		N         jsonx.Raw
	}
	if err := jsonx.Unmarshal(parts[3].(providers.ToolCall).Input, &input); err != nil {
		t.Fatal(err)
	}
	if signature := parts[3].(providers.ToolCall).Signature; signature != "" {
		t.Errorf("the call has %d bytes of signature", len(signature))
	}
	if !strings.HasSuffix(input.Content, notice) || input.LineCount != strings.Count(input.Content, "\n")+1 {
		t.Errorf("content of %d lines, lineCount %d", strings.Count(input.Content, "\n")+1, input.LineCount)
	}
}

func TestBlobs_OldOneIsRewritten(t *testing.T) {
	s := newStore(t, func(o *sessions.StoreOptions) { o.Clock = nil })
	l := create(t, s)
	data := bytes.Repeat([]byte{7}, 2000)
	appendMessage(t, l, imageMessage(data))
	path := filepath.Join(blobDir(s), blobs(t, s)[0])
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	appendMessage(t, l, imageMessage(data))
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("a blob that is referred to again looks like garbage still: %v, %v", info.ModTime(), err)
	}
}

// A reference to a blob cannot name a file outside the blob directory.
func FuzzBlobReference(f *testing.F) {
	for _, ref := range []string{refOf([]byte("x")), "blob:sha256:", "blob:sha256:../../etc/passwd", "blob:sha256:" + strings.Repeat("A", 64), "blob:md5:00"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		s := newStore(t, unsynced)
		if err := os.MkdirAll(blobDir(s), 0o700); err != nil {
			t.Fatal(err)
		}
		const secret = "not a blob"
		if err := os.WriteFile(filepath.Join(filepath.Dir(s.Dir()), "auth.json"), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := jsonx.Marshal(ref)
		if err != nil {
			t.Fatal(err)
		}
		place(t, s, "x", header3+`{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":[{"type":"image","data":`+
			string(text)+`,"mimeType":"image/png"}]}}`+"\n")
		for _, m := range allMessages(t, open(t, s, "x")) {
			for _, p := range m.Parts {
				if img, ok := p.(providers.Image); ok && string(img.Data) == secret {
					t.Errorf("%q has led to another file", ref)
				}
			}
		}
	})
}
