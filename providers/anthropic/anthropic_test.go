package anthropic_test

import (
	"testing"

	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/providertest"
)

var target = providertest.Target{Open: anthropic.Open, URL: (*providertest.Server).AnthropicURL, Signature: "sig"}

func TestSuite(t *testing.T) { providertest.Suite(t, target) }

func BenchmarkModel(b *testing.B) { providertest.Bench(b, target) }
