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
	// Address is where it begins, as the adapter writes it.
	Address string
	Data    []byte
	// Unreadable is how many bytes behind it can not be read.
	Unreadable int
}

// ReadMemory reads count bytes, offset bytes behind a reference.
func (s *Session) ReadMemory(ctx context.Context, reference string, offset, count int) (*Memory, error) {
	defer s.use()()
	_, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsReadMemoryRequest {
		return nil, unsupported("memory reads")
	}
	var body godap.ReadMemoryResponseBody
	args := &readMemoryArguments{MemoryReference: reference, Offset: offset, Count: count}
	if err := l.do(ctx, "readMemory", args, &body); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(body.Data)
	if err != nil {
		return nil, fmt.Errorf("the debug adapter's memory is no base64: %w", err)
	}
	return &Memory{Address: body.Address, Data: data[:min(len(data), count)], Unreadable: body.UnreadableBytes}, nil
}

type readMemoryArguments struct {
	MemoryReference string `json:"memoryReference"`
	Offset          int    `json:"offset,omitzero"`
	Count           int    `json:"count"`
}

// WriteMemory writes data and returns how many bytes were written. Partial allows fewer than all.
func (s *Session) WriteMemory(ctx context.Context, reference string, offset int, data []byte, partial bool) (int, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return 0, err
	}
	if !s.Capabilities().SupportsWriteMemoryRequest {
		return 0, unsupported("memory writes")
	}
	var body struct {
		BytesWritten *int `json:"bytesWritten"`
	}
	err = l.do(ctx, "writeMemory", &godap.WriteMemoryArguments{
		MemoryReference: reference, Offset: offset, AllowPartial: partial, Data: base64.StdEncoding.EncodeToString(data),
	}, &body)
	if err != nil {
		return 0, err
	}
	s.tree.mu.Lock()
	t.forgetVariables()
	s.tree.mu.Unlock()
	if body.BytesWritten == nil { // all of them
		return len(data), nil
	}
	return *body.BytesWritten, nil
}

// Disassemble is which instructions to show.
type Disassemble struct {
	// Reference is where; empty for the current instruction.
	Reference string
	// Offset is in bytes, InstructionOffset in instructions; Count is how many instructions.
	Offset, InstructionOffset, Count int
	// Symbols asks for names.
	Symbols bool
}

// Disassemble returns instructions.
func (s *Session) Disassemble(ctx context.Context, d Disassemble) ([]godap.DisassembledInstruction, error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return nil, err
	}
	if !s.Capabilities().SupportsDisassembleRequest {
		return nil, unsupported("disassembly")
	}
	if d.Reference == "" {
		f, err := t.active(ctx)
		if err != nil {
			return nil, err
		}
		if d.Reference = f.InstructionPointer; d.Reference == "" {
			return nil, errors.New("the adapter does not tell the address of the current instruction; give memory_reference")
		}
	}
	var body godap.DisassembleResponseBody
	err = l.do(ctx, "disassemble", &godap.DisassembleArguments{
		MemoryReference: d.Reference, Offset: d.Offset, InstructionOffset: d.InstructionOffset, InstructionCount: d.Count,
		ResolveSymbols: d.Symbols,
	}, &body)
	return body.Instructions, err
}
