package agent_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// fewFiles is a workspace with the given files. asked records the files that were read.
type fewFiles struct {
	noFiles
	files map[string]string
	asked []string
}

func (f *fewFiles) Stat(_ context.Context, path string) (os.FileInfo, error) {
	if _, ok := f.files[path]; !ok {
		return nil, fs.ErrNotExist
	}
	return fileInfo(path), nil
}

func (f *fewFiles) ReadFile(_ context.Context, path string) ([]byte, error) {
	f.asked = append(f.asked, path)
	return []byte(f.files[path]), nil
}

type fileInfo string

func (f fileInfo) Name() string     { return filepath.Base(string(f)) }
func (fileInfo) Size() int64        { return 1 }
func (fileInfo) Mode() os.FileMode  { return 0o644 }
func (fileInfo) ModTime() time.Time { return time.Time{} }
func (fileInfo) IsDir() bool        { return false }
func (fileInfo) Sys() any           { return nil }

// The system prompt contains the instructions from the top down to the working directory, read through the editor, and all
// information about the environment that a model needs. It is the same for every request of a day.
func TestSystemPrompt(t *testing.T) {
	files := &fewFiles{files: map[string]string{
		"/w/p/AGENTS.md": "Use tabs.", "/w/p/CLAUDE.md": "No.", "/w/CLAUDE.md": "Use spaces.", "/AGENTS.md": "Nothing.", "/w/.git": "",
		"/lib/AGENTS.md": "Of the library.", "/other/AGENTS.md": "Nobody's.",
	}}
	var prompts []string
	keep := providertest.Check(func(req *providers.Request) { prompts = append(prompts, req.System) })
	run(t, func(o *agent.Options) {
		o.Workspace = agent.Workspace{Cwd: "/w/p/src", Additional: []string{"/lib"}}
		o.FS, o.OS = files, "plan9"
		o.Clock = func() time.Time { return time.Now() }
	}, func(w *world) {
		w.prompt("one")
		time.Sleep(time.Hour) // fake time
		w.prompt("two")
	}, providertest.Step{keep, providertest.Text("ok")}, providertest.Step{keep, providertest.Text("ok")})
	for _, want := range []string{
		"## /w/CLAUDE.md\n\nUse spaces.\n\n## /w/p/AGENTS.md\n\nUse tabs.\n\n## /lib/AGENTS.md\n\nOf the library.", "Working directory: /w/p/src", "Additional directories: /lib", "Operating system: plan9",
		"Date: 2000-01-01", "Tools: echo",
	} {
		if !strings.Contains(prompts[0], want) {
			t.Errorf("no %q in the system prompt:\n%s", want, prompts[0])
		}
	}
	for _, no := range []string{"No.", "Nothing.", "Nobody's.", "{{"} {
		if strings.Contains(prompts[0], no) {
			t.Errorf("the system prompt has %q:\n%s", no, prompts[0])
		}
	}
	if prompts[0] != prompts[1] {
		t.Error("the system prompt of a later request differs; the prompt cache is lost")
	}
	for _, path := range files.asked {
		if path != "/w/p/AGENTS.md" && path != "/w/CLAUDE.md" && path != "/lib/AGENTS.md" {
			t.Errorf("the editor was asked for %s", path)
		}
	}
}

// A model without image input is informed of a removed image, and the user's conversation keeps it.
func TestConversation_WithoutImages(t *testing.T) {
	run(t, nil, func(w *world) {
		w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "look"}, providers.Image{MIMEType: "image/png", Data: []byte{1}}}}).Wait(w.t.Context())
	}, providertest.Step{providertest.Check(func(req *providers.Request) {
		if got := req.Messages[0].Text(); got != "look[An image was here. This model cannot see images.]" {
			t.Errorf("the model got %q", got)
		}
		for _, p := range req.Messages[0].Parts {
			if _, isImage := p.(providers.Image); isImage {
				t.Error("the model got the image")
			}
		}
	}), providertest.Text("ok")})
}
