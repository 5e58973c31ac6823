package ipynb

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const spread = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aa",
   "metadata": {},
   "source": [
    "# A \u00e9 ] , }\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "bb",
   "metadata": {"tags": [ "x" ]},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
   ],
   "source": "x = 1"
  }
 ],
 "metadata": {"z": 1.50, "a": "cells"},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

var someID = regexp.MustCompile(`"[0-9a-f]{8}"`)

func TestEdited(t *testing.T) {
	second := spread[strings.Index(spread, "  {\n   \"cell_type\": \"code\""):strings.Index(spread, "\n ],")]
	for _, c := range []struct {
		name     string
		edit     Edit
		old, now string
	}{
		{"a list of lines", Edit{Action: Replace, Cell: 0, Source: "one\n\"two\"\n"}, "[\n    \"# A \\u00e9 ] , }\\n\",\n    \"text\"\n   ]", "[\n    \"one\\n\",\n    \"\\\"two\\\"\\n\"\n   ]"},
		{"nothing in it", Edit{Action: Replace, Cell: 0}, "[\n    \"# A \\u00e9 ] , }\\n\",\n    \"text\"\n   ]", "[]"},
		{
			"outputs go",
			Edit{Action: Replace, Cell: 1, Source: "x = 2", Type: "code"},
			second,
			"  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"bb\",\n   \"metadata\": {\"tags\": [ \"x\" ]},\n   \"outputs\": [],\n   \"source\": \"x = 2\"\n  }",
		},
		{"the same text", Edit{Action: Replace, Cell: 1, Source: "x = 1"}, "", ""},
		{
			"before all",
			Edit{Action: Insert, Source: "new\n"},
			" \"cells\": [\n",
			" \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"new\\n\"\n   ]\n  },\n",
		},
		{
			"after all",
			Edit{Action: Insert, Cell: 2, Type: "markdown"},
			"\n ],\n \"metadata\"",
			",\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": []\n  }\n ],\n \"metadata\"",
		},
		{"the last one goes", Edit{Action: Delete, Cell: 1}, ",\n" + second, ""},
		{"the first one goes", Edit{Action: Delete}, spread[strings.Index(spread, "  {"):strings.Index(spread, second)], ""},
	} {
		for _, crlf := range []bool{false, true} {
			data, want := spread, strings.Replace(spread, c.old, c.now, 1)
			if crlf {
				data, want = strings.ReplaceAll(data, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
			}
			got, cells, err := Edited([]byte(data), &c.edit)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			text := string(got)
			if c.edit.Action == Insert {
				text = someID.ReplaceAllString(text, `"ID"`)
			}
			if d := cmp.Diff(want, text); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.name, d)
			}
			if _, n, err := Text(got); err != nil || n != cells {
				t.Errorf("%s: %d cells, said to be %d: %v", c.name, n, cells, err)
			}
		}
	}
}

func TestEdited_OtherLayouts(t *testing.T) {
	for _, c := range []struct {
		data, want string
		edit       Edit
	}{
		{
			`{"nbformat":4,"nbformat_minor":4,"cells":[{"source":["a"],"cell_type":"code"}]}`,
			`{"nbformat":4,"nbformat_minor":4,"cells":[{"source":["a"],"cell_type":"code"},{"cell_type":"raw","metadata":{},"source":["b\n","c"]}]}`,
			Edit{Action: Insert, Cell: 1, Source: "b\nc", Type: "raw"},
		},
		{`{"cells":[ ],"nbformat":4}`, `{"cells":[{"cell_type":"raw","metadata":{},"source":[]}],"nbformat":4}`, Edit{Action: Insert, Type: "raw"}},
		{"{\n\t\"cells\": []\n}", "{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"raw\",\n\t\t\t\"metadata\": {},\n\t\t\t\"source\": []\n\t\t}\n\t]\n}", Edit{Action: Insert, Type: "raw"}},
		{"{\n  \"cells\": [\n    {\n      \"cell_type\": \"raw\",\n      \"source\": []\n    }\n  ]\n}", "{\n  \"cells\": [\n    {\n      \"cell_type\": \"raw\",\n      \"source\": [\n        \"x\"\n      ]\n    }\n  ]\n}", Edit{Action: Replace, Source: "x"}},
		{"{\n \"cells\": [\n  {\n   \"source\": []\n  }\n ]\n}", "{\n \"cells\": []\n}", Edit{Action: Delete}},
	} {
		got, _, err := Edited([]byte(c.data), &c.edit)
		if err != nil || string(got) != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, c.want)
		}
	}
}

func TestEdited_Fails(t *testing.T) {
	for _, c := range []struct {
		data string
		edit Edit
		is   error
		want string
	}{
		{spread, Edit{Action: Replace, Cell: 2}, errEdit, "there is no cell 2; the notebook has cells 0 to 1"},
		{spread, Edit{Action: Delete, Cell: -1}, errEdit, "no cell -1"},
		{spread, Edit{Action: Insert, Cell: 3}, errEdit, "at 2, the end"},
		{spread, Edit{Action: "run"}, errEdit, "unknown action"},
		{spread, Edit{Action: Insert, Type: "sql"}, errEdit, "unknown cell type"},
		{spread, Edit{Action: Replace, Type: "markdown", Cell: 1}, errEdit, "is of type code"},
		{`{"cells":[{"cell_type":"code"}]}`, Edit{Action: Replace}, errEdit, "no source"},
		{`{"cells":[]}`, Edit{Action: Delete}, errEdit, "has no cells"},
		{`{"cells":[1]}`, Edit{Action: Delete}, errNotNotebook, ""},
		{`{"cells":7}`, Edit{Action: Delete}, errNotNotebook, ""},
		{`{}`, Edit{Action: Delete}, errNotNotebook, "no list of cells"},
		{`{"cells":[`, Edit{Action: Delete}, errNotNotebook, ""},
		{``, Edit{Action: Delete}, errNotNotebook, ""},
	} {
		got, _, err := Edited([]byte(c.data), &c.edit)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v %s", c.edit, err, got)
		}
	}
}

// For any file, an edit fails or results in valid JSON with the expected number of cells.
func FuzzEdited(f *testing.F) {
	f.Add(spread, 1, "x\ny", uint8(0))
	f.Add(`{"cells":[{"source":["a"]},{"source":""}]}`, 0, "", uint8(2))
	f.Add(`{"a":"\\\"]","cells" : [ {} , {"source":[]} ] }`, 2, "\x00\xff", uint8(1))
	f.Fuzz(func(t *testing.T, data string, cell int, source string, action uint8) {
		_, before, err := Text([]byte(data))
		edit := Edit{Action: []Action{Replace, Insert, Delete}[action%3], Cell: cell, Source: source}
		now, cells, eerr := Edited([]byte(data), &edit)
		if eerr != nil {
			return
		}
		if err != nil {
			t.Fatalf("no notebook was changed: %v", err)
		}
		want := before + map[Action]int{Insert: 1, Delete: -1}[edit.Action]
		if _, n, err := Text(now); err != nil || n != want || cells != want || !jsonx.Valid(now) {
			t.Fatalf("%d cells, want %d: %v\n%s", n, want, err, now)
		}
	})
}
