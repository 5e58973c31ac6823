package mcp_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/mcp"
)

// lineSize is a placeholder for the size of the input's first line.
const lineSize = -1

func TestReadLines(t *testing.T) {
	x := strings.Repeat("x", 200_000)
	tests := []struct {
		name, in string
		want     []mcp.Line
	}{
		{"short", "a\n\r\n b \r\nc", []mcp.Line{{Text: "a"}, {Text: "b"}}},
		{"as long as allowed", x[:1000] + "\nb\n", []mcp.Line{{Text: x[:1000]}, {Text: "b"}}},
		{"one over", x[:1001] + "\nb\n", []mcp.Line{{Size: 1001}, {Text: "b"}}},
		{"id first", `{"jsonrpc":"2.0","id":7,"result":"` + x + "\"}\nb\n", []mcp.Line{{Size: lineSize, ID: 7}, {Text: "b"}}},
		{"id last", `{"result":{"id":3,"t":"` + x + "\"},\"jsonrpc\":\"2.0\",\"id\":12}\n", []mcp.Line{{Size: lineSize, ID: 12}}},
		{"id before the version", `{"result":"` + x + "\", \"id\": 9, \"jsonrpc\": \"2.0\"}\n", []mcp.Line{{Size: lineSize, ID: 9}}},
		{"no id", `{"jsonrpc":"2.0","method":"x","params":{"id":3,"t":"` + x + "\"}}\n", []mcp.Line{{Size: lineSize}}},
		{"torn", x, nil},
		{"two long", x + "\n" + x + "\nb\n", []mcp.Line{{Size: lineSize}, {Size: lineSize}, {Text: "b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, line := range tt.want {
				if line.Size == lineSize {
					tt.want[i].Size = int64(strings.IndexByte(tt.in, '\n'))
				}
			}
			for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.HalfReader(strings.NewReader(tt.in))} {
				got, err := mcp.ReadLines(in, 1000)
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("err = %v", err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// FuzzReadLines compares the reader with strings.Split of the whole input.
func FuzzReadLines(f *testing.F) {
	f.Add([]byte("a\n\n{\"id\":1}\nb"))
	f.Add([]byte(strings.Repeat("long ", 40) + "\n\"id\":5}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 64
		got, err := mcp.ReadLines(iotest.OneByteReader(strings.NewReader(string(data))), limit)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		want := strings.Split(string(data), "\n")
		want = slices.DeleteFunc(want[:len(want)-1], func(line string) bool { // the last one is incomplete or empty
			return len(line) <= limit && strings.TrimSpace(line) == ""
		})
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i, line := range want {
			switch {
			case len(line) > limit && got[i].Size != int64(len(line)):
				t.Fatalf("line %d has size %d, want %d", i, got[i].Size, len(line))
			case len(line) <= limit && got[i].Text != string(bytes.TrimSpace([]byte(line))):
				t.Fatalf("line %d is %q, want %q", i, got[i].Text, line)
			}
		}
	})
}
