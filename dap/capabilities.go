package dap

import (
	"fmt"
	"slices"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// capabilities holds the capabilities of an adapter. A capabilities event changes some of them.
type capabilities struct{ godap.Capabilities }

func newCapabilities(raw jsonx.Raw) (capabilities, error) {
	var c capabilities
	if jsonx.IsNull(raw) {
		return c, nil
	}
	err := jsonx.Unmarshal(raw, &c.Capabilities)
	return c, err
}

// with returns the capabilities with the changes of a capabilities event.
func (c capabilities) with(raw jsonx.Raw) capabilities {
	// Decode lists into new slices: other goroutines may read the current ones.
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

// checkBreakpoint returns an error if the adapter does not support a breakpoint.
func (c *capabilities) checkBreakpoint(b *Breakpoint) error {
	switch {
	case b.Kind == FunctionBreakpoint && !c.SupportsFunctionBreakpoints:
		return unsupported("function breakpoints")
	case b.Kind == InstructionBreakpoint && !c.SupportsInstructionBreakpoints:
		return unsupported("instruction breakpoints")
	case b.Kind == DataBreakpoint && !c.SupportsDataBreakpoints:
		return unsupported("data breakpoints")
	case b.Kind == ExceptionBreakpoint:
		return c.checkFilter(b)
	case b.Condition != "" && !c.SupportsConditionalBreakpoints:
		return unsupported("conditional breakpoints")
	case b.HitCondition != "" && !c.SupportsHitConditionalBreakpoints:
		return unsupported("hit conditions")
	case b.LogMessage != "" && !c.SupportsLogPoints:
		return unsupported("log messages")
	}
	return nil
}

func (c *capabilities) checkFilter(b *Breakpoint) error {
	var names []string
	for _, f := range c.ExceptionBreakpointFilters {
		if f.Filter == b.Filter {
			if b.Condition != "" && (!c.SupportsExceptionFilterOptions || !f.SupportsCondition) {
				return unsupported("a condition for " + f.Filter)
			}
			return nil
		}
		names = append(names, f.Filter)
	}
	if len(names) == 0 {
		return unsupported("exception breakpoints")
	}
	return fmt.Errorf("no exception filter %q; the adapter has %q", b.Filter, names)
}

// defaultFilters returns the exception breakpoints that the adapter sets by default.
func (c *capabilities) defaultFilters() []Breakpoint {
	var list []Breakpoint
	for _, f := range c.ExceptionBreakpointFilters {
		if f.Default {
			list = append(list, Breakpoint{Kind: ExceptionBreakpoint, Filter: f.Filter})
		}
	}
	return list
}
