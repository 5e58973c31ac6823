package content

import (
	"math"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// QuotasMeta is the name in the _meta of a usage_update for the limits of the account: a list of [Quota].
const QuotasMeta = "gjc.quotas"

// Quota is one limit of an account for a client. Members are absent if they are unknown.
type Quota struct {
	Name string `json:"name"`
	// Used is the part that is used, from 0 to 1.
	Used      float64 `json:"used"`
	Limit     float64 `json:"limit,omitzero"`
	Remaining float64 `json:"remaining,omitzero"`
	// ResetsAt is a time as in RFC 3339.
	ResetsAt      string `json:"resetsAt,omitzero"`
	WindowSeconds int64  `json:"windowSeconds,omitzero"`
}

// roundTo rounds a part to six digits.
const roundTo = 1e6

// Quotas converts limits for a client.
func Quotas(quotas []providers.Quota) []Quota {
	all := make([]Quota, 0, len(quotas))
	for i := range quotas {
		q := &quotas[i]
		one := Quota{Name: q.Name, Used: math.Round(q.Used*roundTo) / roundTo, Limit: q.Limit, Remaining: q.Remaining, WindowSeconds: int64(q.Window / time.Second)}
		if !q.ResetAt.IsZero() {
			one.ResetsAt = q.ResetAt.UTC().Format(time.RFC3339)
		}
		all = append(all, one)
	}
	return all
}
