package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// fakeLanguageServer is the argument that makes the test binary a language server for .txt files: each BUG is an error,
// and formatting removes trailing blanks. The next argument is its fault: "silent" reports nothing until a file called
// spoken exists, "hang" does not answer initialize, "stubborn" does not end by itself, "loud" logs, "builds" runs build.sh of the
// project before it reports.
const fakeLanguageServer = "fake-language-server"

type lspMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params struct {
		RootPath     string `json:"rootPath"`
		TextDocument struct {
			URI     string `json:"uri"`
			Text    string `json:"text"`
			Version int    `json:"version"`
		} `json:"textDocument"`
		ProcessID      *int `json:"processId"`
		ContentChanges []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
	} `json:"params"`
}

func runFakeLanguageServer(manner string) {
	if manner == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	if manner == "loud" {
		fmt.Fprintln(os.Stderr, "the fake server was here")
	}
	texts, root, client := make(map[string]string), "", "none"
	in := bufio.NewReader(os.Stdin)
	for {
		header, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			break
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			break
		}
		var m lspMessage
		_ = json.Unmarshal(body, &m)
		doc := &m.Params.TextDocument
		switch m.Method {
		case "initialize":
			if manner == "hang" {
				continue
			}
			if root = m.Params.RootPath; m.Params.ProcessID != nil {
				client = strconv.Itoa(*m.Params.ProcessID)
			}
			replyLSP(m.ID, object{"serverInfo": object{"name": "fake", "version": "7"}, "capabilities": object{
				"textDocumentSync": object{"openClose": true, "change": 1, "save": true}, "documentFormattingProvider": true,
			}})
		case "textDocument/didOpen", "textDocument/didChange":
			texts[doc.URI] = doc.Text
			for _, c := range m.Params.ContentChanges {
				texts[doc.URI] = c.Text
			}
			if manner == "builds" {
				build := exec.Command("/bin/sh", "build.sh", client)
				build.Dir = root
				_ = build.Run() // its results say more
			}
			if manner != "silent" {
				publishLSP(doc.URI, doc.Version, texts[doc.URI])
			}
		case "textDocument/didSave":
			if manner == "silent" && strings.Contains(texts[doc.URI], "SPEAK") {
				for uri, text := range texts {
					publishLSP(uri, 0, text)
				}
			}
		case "textDocument/formatting":
			var edits []any
			for i, line := range strings.Split(texts[doc.URI], "\n") {
				if end := strings.TrimRight(line, " "); end != line {
					edits = append(edits, object{"newText": "", "range": object{
						"start": object{"line": i, "character": len(end)}, "end": object{"line": i, "character": len(line)},
					}})
				}
			}
			replyLSP(m.ID, edits)
		case "exit":
			if manner != "stubborn" {
				os.Exit(0)
			}
		default:
			if m.ID != nil && m.Method != "" {
				replyLSP(m.ID, nil)
			}
		}
	}
	if manner == "stubborn" {
		select {}
	}
}

func publishLSP(uri string, version int, text string) {
	problems := []any{}
	for i, line := range strings.Split(text, "\n") {
		if at := strings.Index(line, "BUG"); at >= 0 {
			problems = append(problems, object{"severity": 1, "source": "fake", "message": "a bug", "range": object{
				"start": object{"line": i, "character": at}, "end": object{"line": i, "character": at + 3},
			}})
		}
	}
	params := object{"uri": uri, "diagnostics": problems}
	if version > 0 {
		params["version"] = version
	}
	sendLSP(object{"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params})
}

func replyLSP(id json.RawMessage, result any) {
	sendLSP(object{"jsonrpc": "2.0", "id": id, "result": result})
}

func sendLSP(v any) {
	body, _ := json.Marshal(v)
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
}
