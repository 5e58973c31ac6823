package boundary

import (
	"errors"
	"testing"
)

func TestSettings_Introduction(t *testing.T) {
	t.Parallel()
	found := func(kind string) func() (string, error) { return func() (string, error) { return kind, nil } }
	lacks := func() (string, error) {
		return "", errors.Join(errors.New("bubblewrap: bwrap is not installed"), errors.New("Landlock: too old"))
	}
	unneeded := func() (string, error) { t.Error("it looks for a boundary"); return "", nil }
	const hint = "bubblewrap: bwrap is not installed; Landlock: too old. It would have one with bubblewrap; \"gjc doctor\" says whether that works."
	seen := make(map[string]bool)
	for _, tt := range []struct {
		settings      Settings
		title, detail string
	}{
		{Settings{Use: Auto, Find: found("bubblewrap")}, "Commands that you have not seen run in a sandbox here (bubblewrap): they change only the workspace, see no secrets, and reach only hosts that you allow.", ""},
		{Settings{Use: Auto, Find: found("Landlock")}, "Commands that you have not seen run in a sandbox here (Landlock): they change only the workspace, see no secrets and have no network; install bubblewrap to allow hosts.", ""},
		{Settings{Use: Require, Find: found("bubblewrap")}, "All commands run in a sandbox here, as bash.sandbox requires (bubblewrap): they change only the workspace, see no secrets, and reach only hosts that you allow.", ""},
		{Settings{Use: Auto, Find: lacks}, "This machine has no sandbox, so mode auto asks for all commands but those known to only read.", hint},
		{Settings{Use: Require, Find: lacks}, "This machine has no sandbox, and bash.sandbox requires one: every command is refused.", hint},
		{Settings{Use: Off, Find: unneeded}, "Commands run without a sandbox here, because bash.sandbox is off: mode auto asks for all commands but those known to only read.", ""},
	} {
		state, title, detail := tt.settings.Introduction()
		if title != tt.title || detail != tt.detail {
			t.Errorf("%s: %q, %q", tt.settings.Use, title, detail)
		}
		if seen[state] {
			t.Errorf("the state %q stands for two texts", state)
		}
		seen[state] = true
	}
	open := Settings{Use: Auto, Find: found("bubblewrap"), Network: true}
	if _, title, _ := open.Introduction(); title != "Commands that you have not seen run in a sandbox here (bubblewrap): they change only the workspace, see no secrets, and use the machine's network." {
		t.Errorf("with the machine's network: %q", title)
	}
}
