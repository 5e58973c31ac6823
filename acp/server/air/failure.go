package air

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// A Failure is an error or a warning that the client shows in the conversation.
type Failure struct {
	// ID identifies the incident.
	ID       string   `json:"id"`
	Revision int      `json:"revision"`
	Category string   `json:"category"`
	Severity string   `json:"severity"`
	Title    string   `json:"title"`
	Details  string   `json:"details,omitzero"`
	Actions  []string `json:"actions"`
}

// The categories.
const (
	categoryConnection = "connection"
	categoryLimit      = "limit"
	categoryRequest    = "request"
	categoryService    = "service"
	categoryUnknown    = "unknown"
)

// The actions that a client can offer. "login" is not used: a missing or rejected key is an error of the request, because that makes a
// client offer to sign in.
const (
	actionRetry      = "retry"
	actionNewSession = "new_session"
)

// ModelFailure returns the failure of a turn whose model could not be called. It reports false for a missing or rejected key.
func ModelFailure(id, title string, e *providers.Error) (Failure, bool) {
	f := Failure{ID: id, Revision: 1, Severity: "error", Title: title, Category: categoryService, Actions: []string{actionRetry}}
	switch e.Kind {
	case providers.KindAuth:
		return Failure{}, false
	case providers.KindNetwork, providers.KindTimeout:
		f.Category = categoryConnection
	case providers.KindRateLimit:
		f.Category = categoryLimit
	case providers.KindQuota:
		f.Category, f.Actions = categoryLimit, []string{}
	case providers.KindContextOverflow:
		f.Category, f.Actions = categoryLimit, []string{actionNewSession}
	case providers.KindInvalid, providers.KindOutput, providers.KindModel:
		f.Category, f.Actions = categoryRequest, []string{}
	default: // the provider failed, or its model
	}
	return f, true
}

// Warning returns the failure that a notice reports. It is false for a notice that is not a warning or an error.
func Warning(id string, n *agent.Noticed) (Failure, bool) {
	if n.Severity != agent.SeverityWarning && n.Severity != agent.SeverityError {
		return Failure{}, false
	}
	return Failure{
		ID: id, Revision: 1, Category: categoryUnknown, Severity: string(n.Severity), Title: n.Title, Details: n.Detail, Actions: []string{},
	}, true
}

// Update returns the update with a failure.
func (f *Failure) Update() acp.SessionUpdate {
	u := new(acp.SessionInfoUpdate)
	f.Put(&u.Meta)
	return u
}

// Put stores a failure in a _meta.
func (f *Failure) Put(m *acp.Meta) { Set(m, string(SessionFailure), f) }
