package providers_test

import (
	"math"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

// A request with a long prompt, that of the cache included, has its own price list, and a service tier multiplies either.
func TestModelInfo_Price(t *testing.T) {
	m := providers.ModelInfo{
		TierPrices: map[string]float64{"priority": 2},
		Cost: providers.Cost{
			Input: 1, Output: 10, CacheRead: 0.5, CacheWrite: 2,
			Long: providers.LongCost{Above: 1000, Input: 3, Output: 20, CacheRead: 1, CacheWrite: 6},
		},
	}
	at := providers.Usage{Input: 500, CacheRead: 300, CacheWrite: 200, Output: 5000}
	above := at
	above.CacheRead++
	for name, tt := range map[string]struct {
		usage providers.Usage
		tier  string
		want  float64 // millionths
	}{
		"at the border": {at, "", 500 + 300*0.5 + 200*2 + 50000},
		"above":         {above, "", 500*3 + 301 + 200*6 + 100000},
		"priority":      {at, "priority", 2 * (500 + 300*0.5 + 200*2 + 50000)},
		"long priority": {above, "priority", 2 * (500*3 + 301 + 200*6 + 100000)},
		"default":       {at, "default", 500 + 300*0.5 + 200*2 + 50000},
	} {
		got := m.Price(tt.usage, tt.tier)
		if sum := got.Input + got.Output + got.CacheRead + got.CacheWrite; math.Abs(got.Total*1e6-tt.want) > 1e-6 || math.Abs(sum-got.Total) > 1e-12 {
			t.Errorf("%s: %+v, want %v millionths", name, got, tt.want)
		}
	}
	if got := m.Cost.AtLeast(above).Total * 1e6; math.Abs(got-(500+301*0.5+400+50000)) > 1e-6 {
		t.Errorf("at least %v", got)
	}
}
