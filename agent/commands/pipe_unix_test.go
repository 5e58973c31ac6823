//go:build unix

package commands_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/agent/commands"
)

// Opening a pipe without a writer blocks.
func TestLoad_DoesNotWaitForPipes(t *testing.T) {
	dir := tree(t, map[string]string{"commands/a.md": "a", "skills/s/notes.md": "n"})
	for _, name := range []string{"commands/pipe.md", "skills/s/SKILL.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, problems := commands.Load(t.Context(), commands.Options{UserDir: dir})
	if len(set.Commands()) != 1 || len(problems) != 2 || !strings.Contains(problems[0].Reason, "regular") {
		t.Errorf("%v, %v", set.Commands(), problems)
	}
}
