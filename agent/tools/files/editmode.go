package files

import (
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// EditSettings are the settings of edits.
type EditSettings struct {
	// Mode is the format of edits; empty means [EditAuto].
	Mode EditMode
	// AllowGenerated permits changes to generated files and lock files.
	AllowGenerated bool
}

// EditMode is a format of edits.
type EditMode string

// The modes. [EditAuto] is the format for which a model was trained: apply_patch for the GPT models that support it, replace for
// all others.
const (
	EditAuto       EditMode = "auto"
	EditReplace    EditMode = "replace"
	EditPatch      EditMode = "patch"
	EditApplyPatch EditMode = "apply_patch"
	EditHashline   EditMode = "hashline"
)

// EditModes lists the modes.
func EditModes() []EditMode {
	return []EditMode{EditAuto, EditReplace, EditPatch, EditApplyPatch, EditHashline}
}

// mode returns the mode for a model.
func (s *EditSettings) mode(model *providers.ModelInfo) EditMode {
	switch {
	case s.Mode != "" && s.Mode != EditAuto:
		return s.Mode
	case knowsApplyPatch(model):
		return EditApplyPatch
	default:
		return EditReplace
	}
}

// anchors reports whether read shows a model the anchors that hashline edits use.
func (s *EditSettings) anchors(model *providers.ModelInfo) bool { return s.mode(model) == EditHashline }

// knowsApplyPatch reports whether a model is of the GPT family that was trained for apply_patch: version 4.1 and later, the
// open-weight ones, and those called codex.
func knowsApplyPatch(model *providers.ModelInfo) bool {
	id := strings.ToLower(model.ID)
	if i := strings.LastIndexAny(id, "/."); i >= 0 && strings.Contains(id[i:], "gpt-") {
		id = id[i+1:] // "openai/gpt-6", "openai.gpt-oss-120b"
	} else if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	version, isGPT := strings.CutPrefix(id, "gpt-")
	switch {
	case strings.Contains(id, "codex"):
		return true
	case !isGPT, strings.HasPrefix(version, "3"):
		return false
	case strings.HasPrefix(version, "4"):
		return strings.HasPrefix(version, "4.1")
	default:
		return strings.HasPrefix(version, "oss") || version != "" && version[0] >= '5' && version[0] <= '9' || len(version) > 1 && version[0] == '1' && version[1] >= '0' && version[1] <= '9'
	}
}

// EditTools returns the tools that change parts of files. Each model is offered one of them.
func EditTools(s *EditSettings) []agent.Tool {
	make := map[EditMode]func(*EditSettings) agent.Tool{
		EditReplace: edit, EditPatch: editPatch, EditApplyPatch: applyPatch, EditHashline: editHashline,
	}
	if one := make[s.Mode]; one != nil {
		return []agent.Tool{one(s)}
	}
	return []agent.Tool{edit(s), applyPatch(s)}
}

// only returns a function that reports whether a model uses mode.
func (s *EditSettings) only(mode EditMode) func(*providers.ModelInfo) bool {
	return func(model *providers.ModelInfo) bool { return s.mode(model) == mode }
}
