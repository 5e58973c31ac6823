package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Permissions of other agents are mentioned in the first session of a workspace, and not again.
func TestPermissions_SuggestedOnce(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	writeFile(t, filepath.Join(p.work, ".claude", "settings.json"), `{"permissions":{"allow":["Bash(touch:*)"]}}`)
	p.initialize(nil)
	const said = "Other agents have permissions for this workspace"
	for i, want := range []bool{true, false} {
		id := p.session("default")
		_, before := p.answer(p.prompt(id, "!say hello"))
		if got := strings.Contains(strings.Join(lines(before), "\n"), said); got != want {
			t.Errorf("session %d: %v", i+1, got)
		}
		prompt := p.prompt(id, "!bash touch made") // it has no effect
		p.reply(p.called("session/request_permission"), `{"outcome":{"outcome":"selected","optionId":"reject_once"}}`)
		p.answer(prompt)
	}
	p.stop()
}
