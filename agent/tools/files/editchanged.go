package files

import (
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// changedError reports that a text differs from the one that the model knows, and shows the new lines. From then on the model knows
// them.
func (s *EditSettings) changedError(call *agent.Call, path, text string, regions []lines.Region, where string) error {
	edits.KnownOf(call).Put(path, text)
	name := toolkit.Display(&call.Workspace, path)
	return fmt.Errorf("%s: %w, %s. Nothing was changed. Edit the lines as they are now:\n%s",
		name, edits.ErrChanged, where, edits.FreshLines(text, regions, s.anchors(&call.Model)))
}
