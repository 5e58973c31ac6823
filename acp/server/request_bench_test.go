package server_test

import (
	"testing"

	"github.com/gajae-code/gjc/providers/providertest"
)

// BenchmarkRequest makes requests of long conversations for each API.
func BenchmarkRequest(b *testing.B) {
	for name, target := range targets() {
		b.Run(name, func(b *testing.B) { providertest.BenchRequest(b, target) })
	}
}
