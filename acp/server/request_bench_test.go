package server_test

import (
	"testing"

	"github.com/gajae-code/gjc/providers/providertest"
)

// BenchmarkRequest measures requests with long conversations for each API.
func BenchmarkRequest(b *testing.B) {
	for name, target := range targets() {
		b.Run(name, func(b *testing.B) { providertest.BenchRequest(b, target) })
	}
}
