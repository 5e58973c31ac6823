package agent

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Spending is the usage of a session and its cost.
type Spending struct {
	// Models lists the models in the order of their first use: for the conversation, summaries, titles, handoffs and
	// helper agents. LastTurn covers the last turn that called a model.
	Models, LastTurn []sessions.Use
	// Repriced counts answers without a stored price. Models has them at current prices.
	Repriced int
}

// Cost returns the sum in US dollars, and the number of answers that it excludes because their price or usage is
// unknown.
func Cost(uses []sessions.Use) (usd float64, unpriced, unreported int) {
	for i := range uses {
		usd += uses[i].Price.Total
		unpriced += uses[i].Unpriced
		unreported += uses[i].Unreported
	}
	return providers.RoundUSD(usd), unpriced, unreported
}

// Spending returns the session's usage so far.
func (s *Session) Spending() (Spending, error) {
	var all Spending
	err := s.do(func(st *state) error {
		all = Spending{Models: slices.Clone(st.uses), LastTurn: st.lastTurn, Repriced: st.repriced}
		return nil
	})()
	return all, err
}

// cost returns the session's cost in US dollars, or zero if a price is unknown, because a partial sum would mislead. It ignores
// interrupted answers without a reported usage: they would hide the cost permanently, and occur whenever a user stops early.
// [Spending] counts them.
func (l *ledger) cost() float64 {
	usd, unpriced, _ := Cost(l.uses)
	if unpriced > 0 {
		return 0
	}
	return usd
}

// used returns the event about the use of the window and the cost, and records that it was emitted.
func (st *state) used(tokens int) UsageChanged {
	st.emitted = UsageChanged{Used: tokens, Size: st.model.ContextWindow, CostUSD: st.cost()}
	return st.emitted
}

// loadUses adds the usage of a loaded session. Usage without a price gets the current one, if there is one.
func (st *state) loadUses(of *Conversation) {
	s := st.session
	st.uses = slices.Clone(of.Uses)
	if of.Uses == nil {
		for i := range of.History {
			st.uses = sessions.AddAnswer(st.uses, &of.History[i])
		}
	}
	for i := range st.uses {
		use := &st.uses[i]
		if use.Unpriced == 0 {
			continue
		}
		info := s.opts.Model
		if use.Ref() != info.Ref() {
			var known bool
			if info, known = s.opts.Models.Lookup(use.Ref()); !known {
				continue
			}
		}
		if info.Cost == (providers.Cost{}) {
			continue
		}
		use.Price = use.Price.Add(info.Cost.AtLeast(use.UnpricedUsage))
		st.repriced += use.Unpriced
		use.Unpriced, use.UnpricedUsage = 0, providers.Usage{}
	}
}

// charge counts the usage of answers.
func (st *state) charge(t *turnState, u *sessions.SideUsage) {
	if st.session.child && u.For != ofHelper { // a helper below has counted its own
		st.session.tree.meter.Add(u)
	}
	st.uses = sessions.AddUse(st.uses, u)
	if t != nil {
		t.uses = sessions.AddUse(t.uses, u)
	}
}

// chargeSideUsage counts the usage of answers outside of the conversation, and records it in the log.
func (st *state) chargeSideUsage(t *turnState, u *sessions.SideUsage) {
	s := st.session
	st.charge(t, u)
	if e, err := u.Entry(); err == nil {
		_, _ = s.opts.Log.Append(e) // if the log fails here, the next message fails too
	}
}

// spend records the use of a request that is not part of the conversation.
func (t *RunningTurn) spend(what string, info providers.ModelInfo, used *contextwindow.Meter, tier string) {
	if used.Begun {
		t.account(func(*state) *sessions.SideUsage { return sideUsage(what, &info, used, tier) })
	}
}

// drop records the usage of an answer that is not part of the conversation; a nil answer is ignored.
func (t *RunningTurn) drop(info providers.ModelInfo, msg *providers.Message) {
	if msg != nil {
		t.account(func(*state) *sessions.SideUsage {
			u := answerUse(&info, msg)
			u.For, u.Price = "a dropped answer", info.Price(msg.Usage, t.tier)
			return u
		})
	}
}

// account charges the result of fn, even if its turn has been disowned meanwhile.
func (t *RunningTurn) account(fn func(st *state) *sessions.SideUsage) {
	s := t.session
	_ = s.do(func(st *state) error { // a closed session records no usage
		if st.runs(t.Turn) {
			st.chargeSideUsage(st.turn, fn(st))
			return nil
		}
		st.chargeSideUsage(nil, fn(st))
		st.emitCost()
		return nil
	})()
}

// emitUsage emits the use of the window after an answer.
func (t *RunningTurn) emitUsage(msg *providers.Message) {
	_ = t.do(func(st *state) error {
		st.window.Measure(&st.model, msg.Usage)
		if used := msg.Usage.Context(); used > 0 {
			ev := st.used(used)
			ev.Size = t.model.ContextWindow
			if q, ok := t.session.opts.Models.(quotaReporter); ok {
				ev.Quotas = q.Quotas(t.model.Provider)
			}
			st.emit(ev)
		}
		return nil
	})
	warnOfQuotas(t)
}

// quotaReporter is a [Models] that knows the limits of the providers' accounts.
type quotaReporter interface {
	// Quotas returns what the account of a provider has used of its limits, as far as it is known. It does not use the network.
	Quotas(provider string) []providers.Quota
	// QuotaWarnings returns the limits of which the user must be warned, each once for each level.
	QuotaWarnings(provider string) []providers.Quota
	// RefreshQuotas asks a provider for the limits that it does not report with each response.
	RefreshQuotas(ctx context.Context, provider string) error
}

// Quotas asks a provider for the limits of its account, and returns what is known of them. The error is about the request; the quotas
// are those known before it.
func Quotas(ctx context.Context, s *Session, provider string) ([]providers.Quota, error) {
	q, ok := s.opts.Models.(quotaReporter)
	if !ok {
		return nil, nil
	}
	err := q.RefreshQuotas(ctx, provider)
	return q.Quotas(provider), err
}

// warnOfQuotas notifies the user of limits that are nearly used up.
func warnOfQuotas(t *RunningTurn) {
	q, ok := t.session.opts.Models.(quotaReporter)
	if !ok {
		return
	}
	now := t.session.opts.Clock()
	for _, quota := range q.QuotaWarnings(t.model.Provider) {
		title := fmt.Sprintf("The account at %s has used %.0f %% of its limit %q", t.model.Provider, math.Floor(100*quota.Used), quota.Name)
		if left := quota.ResetAt.Sub(now); !quota.ResetAt.IsZero() && left > 0 {
			title += fmt.Sprintf("; it resets at %s, in %s", quota.ResetAt.In(now.Location()).Format("2006-01-02 15:04 MST"), left.Round(time.Minute))
		}
		t.emit(Noticed{Severity: SeverityWarning, Title: title + "."})
	}
}

// emitCost emits the session's cost if it has changed since the last event. The use of the window is unchanged.
func (st *state) emitCost() {
	if last := st.emitted; st.cost() != last.CostUSD {
		st.emit(st.used(last.Used))
	}
}

// ofHelper is [sessions.SideUsage.For] of the usage of a child session.
const ofHelper = "a helper agent"

// chargeChild charges the usage of a child session.
func (st *state) chargeChild(uses []sessions.Use) {
	for i := range uses {
		use := &uses[i]
		cut := use.Cut // counted once, in the first charge
		charge := func(requests int, usage providers.Usage, price providers.Price) {
			if requests > 0 {
				st.chargeSideUsage(st.turn, &sessions.SideUsage{
					For: ofHelper, Provider: use.Provider, Model: use.Model, Requests: requests, Cut: cut, Usage: usage, Price: price,
				})
				cut = 0
			}
		}
		charge(use.Requests-use.Unpriced-use.Unreported, less(use.Usage, use.UnpricedUsage), use.Price)
		charge(use.Unpriced, use.UnpricedUsage, providers.Price{})
		charge(use.Unreported, providers.Usage{}, providers.Price{})
	}
}

// sideUsage returns the usage of one request.
func sideUsage(what string, info *providers.ModelInfo, used *contextwindow.Meter, tier string) *sessions.SideUsage {
	u := &sessions.SideUsage{For: what, Provider: info.Provider, Model: info.ID, Usage: used.Usage, Price: info.Price(used.Usage, tier)}
	if !used.Complete {
		u.Cut = 1
	}
	return u
}

// answerUse returns the usage of an answer.
func answerUse(info *providers.ModelInfo, m *providers.Message) *sessions.SideUsage {
	u := &sessions.SideUsage{Provider: info.Provider, Model: info.ID, Usage: m.Usage, Price: m.Price}
	switch m.StopReason {
	case "", providers.StopError, providers.StopAborted:
		u.Cut = 1
	default:
	}
	return u
}

// usageOf returns the sum of uses.
func usageOf(uses []sessions.Use) providers.Usage {
	var sum providers.Usage
	for i := range uses {
		sum = sum.Add(uses[i].Usage)
	}
	return sum
}

func less(u, v providers.Usage) providers.Usage {
	return providers.Usage{
		Input: u.Input - v.Input, Output: u.Output - v.Output, CacheRead: u.CacheRead - v.CacheRead,
		CacheWrite: u.CacheWrite - v.CacheWrite, Thinking: u.Thinking - v.Thinking,
	}
}

// ledger is the record of the session's usage.
type ledger struct {
	uses []sessions.Use
	// lastTurn is the usage of the last turn that called a model.
	lastTurn []sessions.Use
	repriced int // as in [Spending]
}
