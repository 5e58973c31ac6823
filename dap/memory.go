package dap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	godap "github.com/google/go-dap"
)

// Memory is a part of the program's memory.
type Memory struct {
	// Address is its start, as the adapter writes it.
	Address string
	Data    []byte
	// Unreadable is the number of bytes after it that cannot be read.
	Unreadable int
}

// ReadMemory reads count bytes, beginning offset bytes after a memory reference.
func (s *Session) ReadMemory(ctx context.Context, reference string, offset, count int) (*Memory, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("memory reads", s.debuggee.capabilities().SupportsReadMemoryRequest)
	if err != nil {
		return nil, err
	}
	body, err := request[godap.ReadMemoryResponseBody](ctx, t, "readMemory", &readMemoryArguments{MemoryReference: reference, Offset: offset, Count: count})
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(body.Data)
	if err != nil {
		return nil, fmt.Errorf("cannot decode the debug adapter's memory: %w", err)
	}
	return &Memory{Address: body.Address, Data: data[:min(len(data), count)], Unreadable: body.UnreadableBytes}, nil
}

type readMemoryArguments struct {
	MemoryReference string `json:"memoryReference"`
	Offset          int    `json:"offset,omitzero"`
	Count           int    `json:"count"`
}

// WriteMemory writes data and returns the number of bytes written. Unless partial is set, it writes all or fails.
func (s *Session) WriteMemory(ctx context.Context, reference string, offset int, data []byte, partial bool) (int, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("memory writes", s.debuggee.capabilities().SupportsWriteMemoryRequest)
	if err != nil {
		return 0, err
	}
	var body struct {
		BytesWritten *int `json:"bytesWritten"`
	}
	err = t.adapter.do(ctx, "writeMemory", &godap.WriteMemoryArguments{
		MemoryReference: reference, Offset: offset, AllowPartial: partial, Data: base64.StdEncoding.EncodeToString(data),
	}, &body)
	if err != nil {
		return 0, err
	}
	t.invalidate()
	if body.BytesWritten == nil { // the adapter wrote all bytes
		return len(data), nil
	}
	return *body.BytesWritten, nil
}

// Disassemble selects the instructions that [Session.Disassemble] returns.
type Disassemble struct {
	// Reference is a memory reference; empty for the current instruction.
	Reference string
	// Offset counts bytes, InstructionOffset and Count count instructions.
	Offset, InstructionOffset, Count int
	// Symbols resolves the names of symbols.
	Symbols bool
}

// Disassemble returns the instructions at a memory reference.
func (s *Session) Disassemble(ctx context.Context, d Disassemble) ([]godap.DisassembledInstruction, error) {
	defer s.tree.use()()
	t, err := s.debuggee.stoppedFor("disassembly", s.debuggee.capabilities().SupportsDisassembleRequest)
	if err != nil {
		return nil, err
	}
	if d.Reference == "" {
		f, err := t.activeFrame(ctx)
		if err != nil {
			return nil, err
		}
		if d.Reference = f.InstructionPointer; d.Reference == "" {
			return nil, errors.New("the adapter does not report the address of the current instruction; give memory_reference")
		}
	}
	body, err := request[godap.DisassembleResponseBody](ctx, t, "disassemble", &godap.DisassembleArguments{
		MemoryReference: d.Reference, Offset: d.Offset, InstructionOffset: d.InstructionOffset, InstructionCount: d.Count,
		ResolveSymbols: d.Symbols,
	})
	return body.Instructions, err
}
