package sessions

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// CustomUsage is the type of the [Custom] entries with the usage of requests outside the conversation: summaries,
// titles, sub-agents, and discarded answers. Their data is a [SideUsage].
const CustomUsage = "gjc.usage"

// SideUsage is the data of a [CustomUsage] entry.
type SideUsage struct {
	// For is the purpose, in a word or two.
	For      string
	Provider string
	Model    string
	// Requests is the number of model calls; zero stands for one.
	Requests int
	// Cut is the number of calls that were interrupted and may have used more than is known.
	Cut int
	// Usage is zero if the provider reported none, and Price if it is unknown.
	Usage providers.Usage
	Price providers.Price
}

type sideUsageJSON struct {
	For      string    `json:"for,omitzero"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Requests int       `json:"requests,omitzero"`
	Cut      int       `json:"cut,omitzero"`
	Usage    jsonx.Raw `json:"usage"`
}

// Entry returns the entry that stores u.
func (u *SideUsage) Entry() (Custom, error) {
	usage, err := jsonx.Marshal(wireUsageOf(u.Usage, u.Price))
	if err != nil {
		return Custom{}, err
	}
	data, err := jsonx.Marshal(sideUsageJSON{u.For, u.Provider, u.Model, u.Requests, u.Cut, usage})
	return Custom{CustomType: CustomUsage, Data: data}, err
}

// Use sums up the use of one model in a session.
type Use struct {
	Provider, Model string
	// Requests is the number of answers, Usage their total usage, and Price the total of their stored prices.
	Requests int
	Usage    providers.Usage
	Price    providers.Price
	// Unpriced is the number of answers without a stored price, and UnpricedUsage their usage.
	Unpriced      int
	UnpricedUsage providers.Usage
	// Unreported is the number of answers without a reported usage, for example because they were interrupted too
	// early.
	Unreported int
	// Cut is the number of interrupted answers with a known usage, which may be too low.
	Cut int
}

// Ref returns "provider/id".
func (u *Use) Ref() string { return u.Provider + "/" + u.Model }

// AddUse adds u to uses and returns them.
func AddUse(uses []Use, u *SideUsage) []Use {
	at := slices.IndexFunc(uses, func(have Use) bool { return have.Provider == u.Provider && have.Model == u.Model })
	if at < 0 {
		at = len(uses)
		uses = append(uses, Use{Provider: u.Provider, Model: u.Model})
	}
	n, to := max(u.Requests, 1), &uses[at]
	to.Requests += n
	to.Usage = to.Usage.Add(u.Usage)
	to.Price = to.Price.Add(u.Price)
	none := u.Price == (providers.Price{})
	if none && u.Usage == (providers.Usage{}) {
		to.Unreported += n
		return uses
	}
	to.Cut += u.Cut
	if none {
		to.Unpriced += n
		to.UnpricedUsage = to.UnpricedUsage.Add(u.Usage)
	}
	return uses
}

// AddAnswer adds a message to uses, if it is a model's answer, and returns them. A request that failed without an
// answer, for which other programs store a message, used nothing.
func AddAnswer(uses []Use, m *providers.Message) []Use {
	failed := m.StopReason == providers.StopError || m.StopReason == providers.StopAborted
	if m.Role != providers.RoleAssistant || m.Model == "" || failed && len(m.Parts) == 0 && m.Usage == (providers.Usage{}) {
		return uses
	}
	u := SideUsage{Provider: m.Provider, Model: m.Model, Usage: m.Usage, Price: m.Price}
	if failed {
		u.Cut = 1
	}
	return AddUse(uses, &u)
}

// UsesOf returns the use of models in entries, in the order of first use.
func UsesOf(entries []Entry) []Use {
	var uses []Use
	for _, e := range entries {
		uses = AddEntry(uses, e)
	}
	return uses
}

// AddEntry adds the usage in an entry to uses, if it has any, and returns them.
func AddEntry(uses []Use, e Entry) []Use {
	switch e := e.(type) {
	case MessageEntry:
		return AddAnswer(uses, &e.Message)
	case Custom:
		var w sideUsageJSON
		if e.CustomType != CustomUsage || jsonx.Unmarshal(e.Data, &w) != nil {
			return uses
		}
		u := SideUsage{For: w.For, Provider: w.Provider, Model: w.Model, Requests: w.Requests, Cut: w.Cut}
		u.Usage, u.Price = decodeUsage(w.Usage)
		return AddUse(uses, &u)
	}
	return uses
}

// Uses returns the use of models in all branches of the session, since all of them were paid for.
func (l *Log) Uses() []Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.uses)
}
