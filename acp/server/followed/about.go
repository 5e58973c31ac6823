package followed

import (
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// About holds the facts about a session that a client sees in addition to its conversation.
type About struct {
	Title string // empty for none
	// UpdatedAt is the time of the last entry.
	UpdatedAt time.Time
	// Used is the number of tokens in the context of the last answer, and Model the model that has given it; zero for none.
	Used  int
	Model string
	// Uses is the use of models so far.
	Uses []sessions.Use
}

// about follows what there is besides the conversation.
type about struct {
	About
	title   sessions.Title
	changed bool // the client does not have it
}

func newAbout(h *sessions.Header) about {
	a := about{title: sessions.TitleOf(h), changed: true}
	a.Title, a.UpdatedAt = a.title.String(), h.Time
	return a
}

// add applies an entry of any branch.
func (a *about) add(e sessions.Entry) {
	a.UpdatedAt = e.Ref().Time
	a.title.Add(e)
	if title := a.title.String(); title != a.Title {
		a.Title, a.changed = title, true
	}
	requests := requestsIn(a.Uses)
	if a.Uses = sessions.AddEntry(a.Uses, e); requestsIn(a.Uses) != requests {
		a.changed = true
	}
	if m, ok := e.(sessions.MessageEntry); ok && m.Message.Model != "" && m.Message.Usage.Context() > 0 {
		a.Used, a.Model, a.changed = m.Message.Usage.Context(), m.Message.Provider+"/"+m.Message.Model, true
	}
}

func requestsIn(uses []sessions.Use) (n int) {
	for i := range uses {
		n += uses[i].Requests
	}
	return n
}
