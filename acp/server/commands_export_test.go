package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// The file's name determines the format, and may be quoted.
func TestCommands_ExportFormats(t *testing.T) {
	e := start(t)
	id := e.session()
	e.say(id, "!say hello there", acp.StopReasonEndTurn)
	for _, tt := range []struct{ args, file, want string }{
		{"", "gjc-session-" + string(id) + ".html", "<!DOCTYPE html>"},
		{" talk.html", "talk.html", "<!DOCTYPE html>"},
		{` "my talk.HTML"`, "my talk.HTML", "<!DOCTYPE html>"},
		{" 'other talk.json' ", "other talk.json", `{"session":{"id":"` + string(id)},
		{" two words.md", "two words.md", "# !say hello there\n"},
		{" talk.txt", "talk.txt", "# !say hello there\n"},
	} {
		path := filepath.Join(e.dir, tt.file)
		if got, _ := e.after(id, "/export"+tt.args); !strings.Contains(got, "Session exported to: "+path) {
			t.Errorf("/export%s: %q", tt.args, got)
		}
		data, err := os.ReadFile(path)
		if text, ok := e.Buffer(path); ok { // the editor has written the file
			data, err = []byte(text), nil
		}
		if err != nil || !strings.HasPrefix(string(data), tt.want) || !strings.Contains(string(data), "hello there") || strings.Contains(string(data), "interrupted") {
			t.Errorf("%s: %v\n%.300s", tt.file, err, data)
		}
	}
}
