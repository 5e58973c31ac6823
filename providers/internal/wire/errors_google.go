package wire

import (
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// googleDetails extracts the names of the reasons, the exceeded limit and the time to wait from the details of Google's errors. It
// ignores other details.
func googleDetails(raw jsonx.Raw) (reasons []string, limit providers.ErrorKind, wait time.Duration) {
	var details []struct {
		Type       string `json:"@type"`
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if jsonx.IsNull(raw) || jsonx.Unmarshal(raw, &details) != nil {
		return nil, "", 0
	}
	for _, d := range details {
		switch d.Type[strings.LastIndexByte(d.Type, '.')+1:] {
		case "ErrorInfo":
			reasons = append(reasons, d.Reason)
		case "RetryInfo":
			if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay > 0 {
				wait = delay
			}
		case "QuotaFailure":
			for _, v := range d.Violations {
				switch {
				case strings.Contains(v.QuotaID, "PerDay"):
					limit = providers.KindQuota // a daily limit outweighs one per minute
				case limit == "" && strings.Contains(v.QuotaID, "PerMinute"):
					limit = providers.KindRateLimit
				}
			}
		}
	}
	return reasons, limit, wait
}
