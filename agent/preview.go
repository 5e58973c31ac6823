package agent

import (
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// Preview is work that a tool has shown but not done. A call of another tool applies or discards it.
type Preview struct {
	// Tool is the name of the tool that applies or discards the work.
	Tool string
	// Title describes the work to the user.
	Title string
	// Reminder explains to the model that the work is pending, and how to call Tool.
	Reminder string
}

// A previewHolder is one of a session's [Values] that may hold a pending preview. Preview returns nil for none, and the
// same pointer for the same preview. It must not block.
type previewHolder interface{ Preview() *Preview }

// PreviewOf returns the pending preview of the newest value that holds one; nil for none.
func PreviewOf(v *Values) *Preview {
	for _, value := range slices.Backward(v.all()) {
		if h, ok := value.(previewHolder); ok {
			if p := h.Preview(); p != nil {
				return p
			}
		}
	}
	return nil
}

// maxPreviewReminders bounds how often the model is asked again because of the same preview.
const maxPreviewReminders = 2

// previewState holds the session's record of its pending preview.
type previewState struct {
	pending *Preview
	// free reports whether requests no longer force the call: a model has answered a request that forced it, or the turn that
	// created the preview is over.
	free bool
	// reminders is the number of reminders that the model has received.
	reminders int
	// noticed reports whether the user was notified; left reports whether the next turn begins with a reminder.
	noticed, left bool
}

// previews is the part of the actor that handles previews.
type previews struct{ *state }

// pendingPreview returns the pending preview. If it differs from that of the last call, st.preview is reset.
func (st previews) pendingPreview() *Preview {
	s := st.session
	p := PreviewOf(s.opts.Values)
	if p != st.preview.pending {
		st.preview = previewState{pending: p}
	}
	return p
}

// forcedTool returns the name of the tool that the next answer must call; empty for none.
func (st previews) forcedTool(tools []Tool) string {
	p := st.pendingPreview()
	if p == nil || st.preview.free || find(tools, p.Tool) == nil {
		return ""
	}
	return p.Tool
}

// remindLeft reminds the model of a preview that an earlier turn left pending.
func (st previews) remindLeft() error {
	p := st.pendingPreview()
	if p == nil || !st.preview.left {
		return nil
	}
	st.preview.left = false
	return st.remindPreview(p)
}

// remindPreview adds a reminder of p to the conversation.
func (st previews) remindPreview(p *Preview) error {
	s := st.session
	st.preview.reminders++
	return st.remind(p.Tool+"-reminder", s.opts.Secrets.Hide(p.Reminder))
}

// checkPreview reminds the model of a preview that was pending before its answer and still is, unless one of the answer's calls
// tried to apply or discard it. It reports whether it added a reminder and the model must be asked again.
func (t *RunningTurn) checkPreview(calls []providers.ToolCall) (again bool, err error) {
	if t.ctx.Err() != nil {
		return false, nil
	}
	err = t.do(func(st *state) error {
		before := st.preview.pending
		p := previews{st}.pendingPreview()
		if p == nil || p != before {
			return nil
		}
		st.preview.free = true
		tried := slices.ContainsFunc(calls, func(c providers.ToolCall) bool { return c.Name == p.Tool })
		if tried || t.last || st.turn.ending || find(t.tools.active, p.Tool) == nil || st.preview.reminders >= maxPreviewReminders {
			return nil
		}
		again = true
		return previews{st}.remindPreview(p)
	})
	return again && err == nil, err
}

// leavePreview notifies the user of a preview that is pending at the end of a turn, once. The preview stays pending, and the
// next turn begins with a reminder.
func (st previews) leavePreview() {
	s := st.session
	p := st.pendingPreview()
	if p == nil || st.preview.noticed {
		return
	}
	st.preview.free, st.preview.noticed, st.preview.left = true, true, true
	st.emit(Noticed{
		Severity: SeverityWarning, Title: s.opts.Secrets.Hide("Neither applied nor discarded: " + p.Title),
		Detail: "Nothing was changed. Say in the next prompt whether to apply or to discard it.",
	})
}
