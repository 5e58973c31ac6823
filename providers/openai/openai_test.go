package openai_test

import (
	"testing"

	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

var target = providertest.Target{Open: openai.Open, URL: (*providertest.Server).OpenAIURL, Signature: "reasoning_content"}

func TestSuite(t *testing.T) { providertest.Suite(t, target) }

func BenchmarkModel(b *testing.B) { providertest.Bench(b, target) }
