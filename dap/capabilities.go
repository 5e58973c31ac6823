package dap

import (
	"slices"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// capabilities are what an adapter said that it can do, and how it said it: a later event changes single ones.
type capabilities struct {
	godap.Capabilities
	raw jsonx.Raw
}

func newCapabilities(raw jsonx.Raw) (capabilities, error) {
	c := capabilities{raw: raw}
	if jsonx.IsNull(raw) {
		return c, nil
	}
	err := jsonx.Unmarshal(raw, &c.Capabilities)
	return c, err
}

// with returns the capabilities after those that an event changes. What it does not name stays.
func (c capabilities) with(raw jsonx.Raw) capabilities {
	// Lists are decoded into new ones: others may be reading those that there are.
	merged := c
	if jsonx.Lookup(raw, "exceptionBreakpointFilters") != nil {
		merged.ExceptionBreakpointFilters = nil
	}
	merged.CompletionTriggerCharacters = slices.Clone(c.CompletionTriggerCharacters)
	merged.AdditionalModuleColumns = slices.Clone(c.AdditionalModuleColumns)
	merged.SupportedChecksumAlgorithms = slices.Clone(c.SupportedChecksumAlgorithms)
	if jsonx.Unmarshal(raw, &merged.Capabilities) != nil {
		return c
	}
	return merged
}
