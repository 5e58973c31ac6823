package debug

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of one call on memory.
const (
	maxMemory       = 64 << 10
	maxInstructions = 500
	bytesPerLine    = 16
)

func runDisassemble(ctx context.Context, c *debugCall) (*agent.Result, error) {
	in := c.in
	n := in.InstructionCount
	if n > maxInstructions {
		n = maxInstructions
		c.notes = append(c.notes, fmt.Sprintf("At most %d instructions are shown.", maxInstructions))
	}
	list, err := c.session.Disassemble(ctx, dap.Disassemble{
		Reference: in.MemoryReference, Offset: in.Offset, InstructionOffset: in.InstructionOffset, Count: n, Symbols: in.ResolveSymbols,
	})
	if err != nil {
		return nil, err
	}
	current := ""
	if at := c.session.Peek(); at.Top != nil {
		current = at.Top.InstructionPointer
	} else if at.Frame != nil {
		current = at.Frame.InstructionPointer
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	place := ""
	for i := range list {
		ins := &list[i]
		if l := ins.Location; l != nil && ins.Line > 0 {
			if p := c.place(l.Path, ins.Line, 0); p != place && l.Path != "" {
				place = p
				fmt.Fprintf(w, "%s:\n", p)
			}
		}
		mark := " "
		if current != "" && sameAddress(ins.Address, current) {
			mark = "→"
		}
		text := oneLine(ins.Instruction, toolkit.MaxShownColumns)
		text += between("  <", oneLine(ins.Symbol, maxShownValue), ">")
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", mark, ins.Address, ins.InstructionBytes, text)
	}
	_ = w.Flush() // writes to memory, never fails
	return c.result(ctx, cmp.Or(b.String(), "No instructions there.")), nil
}

func sameAddress(a, b string) bool {
	x, xerr := strconv.ParseUint(a, 0, 64)
	y, yerr := strconv.ParseUint(b, 0, 64)
	return a == b || xerr == nil && yerr == nil && x == y
}

func runReadMemory(ctx context.Context, c *debugCall) (*agent.Result, error) {
	n := c.in.Count
	if n > maxMemory {
		n = maxMemory
		c.notes = append(c.notes, fmt.Sprintf("At most %s are read at once; use offset to read more.", toolkit.Size(maxMemory)))
	}
	m, err := c.session.ReadMemory(ctx, c.in.MemoryReference, c.in.Offset, n)
	if err != nil {
		return nil, err
	}
	shown := hexdump(m.Address, m.Data)
	if len(m.Data) == 0 {
		shown = "Cannot read memory at " + m.Address + ".\n"
	}
	if m.Unreadable > 0 {
		shown += fmt.Sprintf("(%s after this cannot be read)\n", text.Count(m.Unreadable, "byte"))
	}
	return c.result(ctx, shown), nil
}

// hexdump formats bytes as text, 16 per line.
func hexdump(address string, data []byte) string {
	start, err := strconv.ParseUint(address, 0, 64)
	var b strings.Builder
	for at := 0; at < len(data); at += bytesPerLine {
		line := data[at:min(at+bytesPerLine, len(data))]
		if err == nil {
			fmt.Fprintf(&b, "0x%012x ", start+uint64(at))
		} else {
			fmt.Fprintf(&b, "%s+0x%04x ", address, at)
		}
		for i := range bytesPerLine {
			if i == bytesPerLine/2 {
				b.WriteByte(' ')
			}
			if i < len(line) {
				fmt.Fprintf(&b, " %02x", line[i])
			} else {
				b.WriteString("   ")
			}
		}
		b.WriteString("  |")
		for _, ch := range line {
			if ch < ' ' || ch > '~' {
				ch = '.'
			}
			b.WriteByte(ch)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// memoryData decodes the data of write_memory.
func memoryData(in *debugInput) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(in.Data))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w for debug: data is not base64: %w", agent.ErrBadInput, err)
	case len(data) == 0:
		return nil, required("data", in.Action)
	}
	return data, nil
}

func runWriteMemory(ctx context.Context, c *debugCall) (*agent.Result, error) {
	data, err := memoryData(c.in)
	if err != nil {
		return nil, err
	}
	n, err := c.session.WriteMemory(ctx, c.in.MemoryReference, c.in.Offset, data, c.in.AllowPartial)
	if err != nil {
		return nil, err
	}
	return c.result(ctx, fmt.Sprintf("Memory write completed.\nBytes written: %d", n)), nil
}

func runModules(ctx context.Context, c *debugCall) (*agent.Result, error) {
	list, total, err := c.session.Modules(ctx, c.in.StartModule, c.in.ModuleCount)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return c.result(ctx, "No modules."), nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "ID\tName\tPath\tSymbols\tRange\n")
	for i := range list {
		m := &list[i]
		fmt.Fprintf(w, "%v\t%s\t%s\t%s\t%s\n", m.Id, oneLine(m.Name, toolkit.MaxShownColumns), oneLine(toolkit.Display(&c.call.Workspace, m.Path), toolkit.MaxColumns), m.SymbolStatus, m.AddressRange)
	}
	_ = w.Flush() // writes to memory, never fails
	if shown := c.in.StartModule + len(list); total > shown {
		fmt.Fprintf(&b, "… %s; use start_module %d to list them\n", text.Count(total-shown, "more module"), shown)
	}
	return c.result(ctx, b.String()), nil
}

func runLoadedSources(ctx context.Context, c *debugCall) (*agent.Result, error) {
	list, err := c.session.LoadedSources(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i := range list {
		s := &list[i]
		name := s.Name
		if s.Path != "" {
			name = toolkit.Display(&c.call.Workspace, s.Path)
		}
		b.WriteString("- " + oneLine(name, toolkit.MaxColumns))
		if s.SourceReference != 0 {
			fmt.Fprintf(&b, " [source_reference=%d]", s.SourceReference)
		}
		b.WriteString("\n")
	}
	return c.result(ctx, cmp.Or(b.String(), "No loaded sources.")), nil
}

// runSource shows the source of a frame, or a source that only the adapter has.
func runSource(ctx context.Context, c *debugCall) (*agent.Result, error) {
	if c.in.SourceReference != 0 {
		text, err := c.session.SourceText(ctx, c.in.SourceReference)
		if err != nil {
			return nil, err
		}
		return c.result(ctx, toolkit.TidyOutput(text)), nil
	}
	text, name, err := c.session.Source(ctx, c.in.FrameID)
	if err != nil {
		return nil, err
	}
	return c.result(ctx, toolkit.Display(&c.call.Workspace, name)+":\n"+toolkit.TidyOutput(text)), nil
}

func runCustomRequest(ctx context.Context, c *debugCall) (*agent.Result, error) {
	raw, err := c.session.Custom(ctx, c.in.Command, jsonx.Raw(c.in.Arguments))
	if err != nil {
		return nil, err
	}
	body := jsonx.Raw(append([]byte(nil), raw...))
	if len(body) == 0 {
		body = jsonx.Raw("{}")
	}
	if err := body.Indent(); err != nil {
		return nil, fmt.Errorf("the answer to %s is not JSON: %w", c.in.Command, err)
	}
	return c.result(ctx, c.in.Command+" response:\n"+string(body)), nil
}
