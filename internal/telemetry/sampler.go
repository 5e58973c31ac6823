package telemetry

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// sampler decides which traces are recorded.
type sampler struct {
	// byParent follows the client's decision where the client has begun the trace.
	byParent bool
	// below is the bound of the traces that are recorded, by 63 bits of their ID.
	below uint64
}

// newSampler returns the sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name.
func newSampler(name, arg string) (sampler, error) {
	const all = uint64(math.MaxInt64) + 1
	ratio := func() (uint64, error) {
		r, err := strconv.ParseFloat(arg, 64)
		if arg == "" {
			r, err = 1, nil
		}
		if err != nil || r < 0 || r > 1 || math.IsNaN(r) {
			return all, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q, not a number from 0 to 1; all traces are recorded", arg)
		}
		return uint64(r * float64(all)), nil
	}
	switch name {
	case "", "parentbased_always_on":
		return sampler{true, all}, nil
	case "always_on":
		return sampler{false, all}, nil
	case "always_off":
		return sampler{false, 0}, nil
	case "parentbased_always_off":
		return sampler{true, 0}, nil
	case "traceidratio":
		below, err := ratio()
		return sampler{false, below}, err
	case "parentbased_traceidratio":
		below, err := ratio()
		return sampler{true, below}, err
	}
	return sampler{true, all}, fmt.Errorf("OTEL_TRACES_SAMPLER is %q, which gjc does not have; all traces are recorded", name)
}

func (s sampler) samples(trace [16]byte, remote, sampled bool) bool {
	if s.byParent && remote {
		return sampled
	}
	return binary.BigEndian.Uint64(trace[8:])>>1 < s.below
}
