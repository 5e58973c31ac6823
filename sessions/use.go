package sessions

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// CustomUsage is the type of the [Custom] entries that say what was used beside the conversation: for summaries, titles,
// helper agents, and answers that were dropped. Their data is a [SideUsage].
const CustomUsage = "gjc.usage"

// SideUsage is the data of a [CustomUsage] entry.
type SideUsage struct {
	// For is what it was used for, in a word or two.
	For      string
	Provider string
	Model    string
	// Requests is how many model calls it were; zero for one.
	Requests int
	// Cut is how many of them were cut off, so that they may have used more than was known by then.
	Cut int
	// Usage is zero where nobody has told it, and Price where it is not known.
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

// Entry is the entry that keeps u.
func (u *SideUsage) Entry() (Custom, error) {
	usage, err := jsonx.Marshal(wireUsageOf(u.Usage, u.Price))
	if err != nil {
		return Custom{}, err
	}
	data, err := jsonx.Marshal(sideUsageJSON{u.For, u.Provider, u.Model, u.Requests, u.Cut, usage})
	return Custom{CustomType: CustomUsage, Data: data}, err
}

// Use is what one model was used for in a session.
type Use struct {
	Provider, Model string
	// Requests counts the answers that a model gave, Usage what they used, and Price what they cost as far as that is
	// stored.
	Requests int
	Usage    providers.Usage
	Price    providers.Price
	// Unpriced counts the answers of which no price is stored, and UnpricedUsage is what they used.
	Unpriced      int
	UnpricedUsage providers.Usage
	// Untold counts the answers of which nobody has told what they used, as those that were cut off too early.
	Untold int
	// Cut counts those that were cut off and of which something is known: they may have used more than Usage says.
	Cut int
}

// Ref returns "provider/id".
func (u *Use) Ref() string { return u.Provider + "/" + u.Model }

// AddUse adds answers of a model to uses and returns them.
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
		to.Untold += n
		return uses
	}
	to.Cut += u.Cut
	if none {
		to.Unpriced += n
		to.UnpricedUsage = to.UnpricedUsage.Add(u.Usage)
	}
	return uses
}

// AddAnswer adds a message to uses, if it is a model's answer, and returns them. A request that failed before there was
// an answer, of which other programs keep a message, used nothing.
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

// UsesOf is what the entries tell of the models that were used, in the order of their first use.
func UsesOf(entries []Entry) []Use {
	var uses []Use
	for _, e := range entries {
		uses = addUse(uses, e)
	}
	return uses
}

func addUse(uses []Use, e Entry) []Use {
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

// Uses returns what the models were used for that answered in the session, in all of its branches: what was paid for
// stays paid for.
func (l *Log) Uses() []Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.uses)
}
