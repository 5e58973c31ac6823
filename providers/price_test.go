package providers_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

// A request with a long prompt, including its cached part, has its own price list, and a service tier multiplies either price.
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
		want  float64 // in millionths of a dollar
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

// Prices and their sums have no binary rounding errors.
func TestPrice_Digits(t *testing.T) {
	cost := providers.Cost{Input: 0.15, Output: 0.6, CacheRead: 0.075, CacheWrite: 0.3}
	var sum providers.Price
	for _, u := range []providers.Usage{{Input: 1234, Output: 567}, {Input: 3, Output: 1, CacheRead: 7}, {CacheWrite: 1}, {Input: 999_999, Output: 123_457}} {
		for _, tier := range []float64{1, 0.5, 1.7} {
			price := providers.ModelInfo{Cost: cost, TierPrices: map[string]float64{"tier": tier}}.Price(u, "tier")
			sum = sum.Add(price)
			for _, usd := range []float64{price.Input, price.Output, price.CacheRead, price.CacheWrite, price.Total, sum.Total} {
				if s := strconv.FormatFloat(usd, 'f', -1, 64); len(s) > len("0.000000000000")+2 {
					t.Errorf("%+v times %v: %s", u, tier, s)
				}
			}
		}
	}
	for in, want := range map[float64]float64{
		0: 0, 0.0008079999999999999: 0.000808, 0.1 + 0.2: 0.3, 1e-9: 1e-9, 123.45000000000002: 123.45, -0.30000000000000004: -0.3, math.Inf(1): math.Inf(1),
	} {
		if got := providers.RoundUSD(in); got != want {
			t.Errorf("RoundUSD(%v) = %v, want %v", in, got, want)
		}
	}
}
