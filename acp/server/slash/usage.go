package slash

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// describeUsage runs /usage: it shows the usage of the session, of each model and of the last turn, and which parts are unknown.
func describeUsage(c *call) error {
	spending, err := c.session.Spending()
	if err != nil {
		return err
	}
	if len(spending.Models) == 0 {
		return c.say("No model has been called in this session.\n"+quotaTables(c, nil), nil)
	}
	var s strings.Builder
	s.WriteString("This session, all branches:\n" + usageLines(spending.Models))
	if len(spending.Models) > 1 {
		for i := range spending.Models {
			one := spending.Models[i : i+1]
			s.WriteString("\n" + one[0].Ref() + ":\n" + usageLines(one))
		}
	} else {
		s.WriteString("- Model: " + spending.Models[0].Ref() + "\n")
	}
	if len(spending.LastTurn) > 0 {
		s.WriteString("\nThe last turn:\n" + usageLines(spending.LastTurn))
	}
	unknown := unpriced(spending.Models)
	if unknown != "" {
		s.WriteString("\nThe prices of " + unknown + " are unknown; set `cost` in models.yml. Until then editors receive no cost for this session.\n")
	}
	if usd, _, n := agent.Cost(spending.Models); n > 0 {
		fmt.Fprintf(&s, "\nThe usage of %s is unknown: the provider does not report it, or the answer was cut off before it did.", text.Count(n, "answer"))
		if unknown == "" && usd > 0 {
			s.WriteString(" The cost that editors receive covers only the others.")
		}
		s.WriteString("\n")
	}
	cut := 0
	for i := range spending.Models {
		cut += spending.Models[i].Cut
	}
	if cut > 0 {
		fmt.Fprintf(&s, "\n%s cut off: their usage is counted as far as the provider had reported it, which can be less than what you pay.\n", was(cut, "answer"))
	}
	if n := spending.Repriced; n > 0 {
		fmt.Fprintf(&s, "\nNo price is stored for %s; the cost is computed with current prices.\n", text.Count(n, "older answer"))
	}
	s.WriteString(quotaTables(c, spending.Models))
	return c.say(s.String(), nil)
}

// quotaTables lists the limits of the accounts at the providers of the session's model and of uses.
func quotaTables(c *call, uses []sessions.Use) string {
	snap, err := c.session.Snapshot()
	if err != nil {
		return ""
	}
	asked := []string{snap.Model.Provider}
	for i := range uses {
		if !slices.Contains(asked, uses[i].Provider) {
			asked = append(asked, uses[i].Provider)
		}
	}
	var s strings.Builder
	for _, provider := range asked {
		quotas, err := agent.Quotas(c, c.session, provider)
		if len(quotas) > 0 {
			s.WriteString("\nLimits of the account at " + provider + ":\n\n| Limit | Used | Left | Resets |\n|---|---|---|---|\n")
		}
		now := time.Now()
		for i := range quotas {
			s.WriteString(quotaRow(&quotas[i], now))
		}
		if err != nil {
			s.WriteString("\nThe limits of the account at " + provider + " are unknown: " + err.Error() + ".\n")
		}
	}
	return s.String()
}

func quotaRow(q *providers.Quota, now time.Time) string {
	left, resets := "", ""
	if q.Limit > 0 {
		left = fmt.Sprintf("%s of %s", amountText(q.Remaining), amountText(q.Limit))
	}
	if wait := q.ResetAt.Sub(now); !q.ResetAt.IsZero() && wait > 0 {
		unit := time.Second
		if wait > time.Hour {
			unit = time.Minute
		}
		resets = q.ResetAt.In(now.Location()).Format("2006-01-02 15:04 MST") + ", in " + wait.Round(unit).String()
	}
	name := q.Name
	if length := windowText(q.Window); length != "" && !strings.Contains(name, length) {
		name += " (" + length + ")"
	}
	return fmt.Sprintf("| %s | %.0f %% | %s | %s |\n", name, math.Floor(100*q.Used), left, resets)
}

// windowText formats the length of a window; it returns nothing for an odd one.
func windowText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return ""
	case d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	case d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return ""
}

// amountText formats a number of tokens, requests or credits.
func amountText(n float64) string { return strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64) }

// usageLines lists requests, tokens, cache and cost.
func usageLines(uses []sessions.Use) string {
	var sum providers.Usage
	n := 0
	for i := range uses {
		n += uses[i].Requests
		sum = sum.Add(uses[i].Usage)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "- Model calls: %d", n)
	if _, _, unreported := agent.Cost(uses); unreported > 0 {
		fmt.Fprintf(&s, ", %d of them with unknown usage", unreported)
	}
	fmt.Fprintf(&s, "\n- Input: %d tokens, and %d read from and %d written to the cache\n", sum.Input, sum.CacheRead, sum.CacheWrite)
	if all := sum.Input + sum.CacheRead + sum.CacheWrite; sum.CacheRead+sum.CacheWrite > 0 {
		fmt.Fprintf(&s, "- Cache hits: %d%% of the input\n", 100*sum.CacheRead/all)
	}
	fmt.Fprintf(&s, "- Output: %d tokens", sum.Output)
	if sum.Thinking > 0 {
		fmt.Fprintf(&s, ", %d of them reasoning", sum.Thinking)
	}
	s.WriteString("\n- Cost: " + costText(uses) + "\n")
	return s.String()
}

// costText returns the cost of uses, as far as it is known.
func costText(uses []sessions.Use) string {
	usd, unpriced, unreported := agent.Cost(uses)
	var why []string
	if unpriced > 0 {
		why = append(why, "the prices of "+text.Count(unpriced, "call")+" are unknown")
	}
	if unreported > 0 {
		why = append(why, "the usage of "+text.Count(unreported, "call")+" is unknown")
	}
	switch {
	case len(why) == 0:
		return dollars(usd)
	case usd > 0:
		return "at least " + dollars(usd) + "; " + strings.Join(why, ", and ")
	case unreported == 0:
		return "unknown (no prices for this model)"
	default:
		return "unknown (" + strings.Join(why, ", and ") + ")"
	}
}

// dollars formats an amount, with more digits for small amounts.
func dollars(usd float64) string {
	if usd >= 1 || usd == 0 {
		return fmt.Sprintf("$%.2f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

// was returns [text.Count] followed by "was" or "were".
func was(n int, noun string) string {
	if n != 1 {
		return text.Count(n, noun) + " were"
	}
	return text.Count(n, noun) + " was"
}

// unpriced returns the models whose prices are unknown.
func unpriced(uses []sessions.Use) string {
	var refs []string
	for i := range uses {
		if uses[i].Unpriced > 0 {
			refs = append(refs, uses[i].Ref())
		}
	}
	return strings.Join(refs, ", ")
}
