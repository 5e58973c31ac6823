package agent

import (
	"errors"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// customFailed is the type of the entry at the end of a turn that failed. Models do not see it.
const customFailed = "gjc.failed"

// failure is why a turn failed.
type failure struct {
	Message string `json:"message"`
	// Kind is that of a failed model call; empty for other failures.
	Kind string `json:"kind,omitzero"`
}

// recordFailure keeps why the turn failed, so that a session that is loaded or exported later says more than that the turn
// has no end. It does nothing for a turn that ended otherwise or whose prompt is not in the log.
func (t *RunningTurn) recordFailure(r TurnResult) {
	if r.Err == nil || !t.prompted {
		return
	}
	why := failure{Message: r.Err.Error()}
	if e, ok := errors.AsType[*providers.Error](r.Err); ok {
		why.Kind = string(e.Kind)
	}
	raw, err := jsonx.Marshal(why)
	if err != nil {
		return
	}
	// A log that cannot be written has failed the turn itself, or fails the next one.
	_ = t.do(func(*state) error {
		_, err := t.session.opts.Log.Append(sessions.Custom{CustomType: customFailed, Data: raw})
		return err
	})
}

// failed replays why a turn failed. It returns false to stop.
func (r *replay) failed(e *sessions.Custom) bool {
	var why failure
	if jsonx.Unmarshal(e.Data, &why) != nil || why.Message == "" {
		return true
	}
	return r.yield(Noticed{ID: r.id() + "-failed", Severity: SeverityError, Title: "The turn failed.", Detail: why.Message})
}
