package extension_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/extension"
	"github.com/gajae-code/gjc/internal/testenv"
)

// Unknown methods and lines that are no messages end nothing.
func TestServe(t *testing.T) {
	in := "garbage\n" + `{"jsonrpc":"2.0","id":1,"method":"later/method","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"shutdown"}` + "\n"
	var out bytes.Buffer
	if err := new(extension.Extension).Serve(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":1,"error":{"code":-32601,`, `"id":2,"result":{}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it wrote %s, want %s", out.String(), want)
		}
	}
}

// node declares what the example uses of Node.js.
const node = `declare module "node:readline" { export function createInterface(o: { input: unknown }): AsyncIterable<string>; }
declare const process: { stdin: unknown; stdout: { write(s: string): boolean }; exit(code: number): never };
`

// The types of the example for Node.js are right, and Node.js can erase them.
func TestExample_Types(t *testing.T) {
	path := testenv.NeedsTool(t, "node")
	root := testenv.ModuleRoot(t)
	tsc := filepath.Join(root, "testdata", "lsp", "node_modules", "typescript", "bin", "tsc")
	if _, err := os.Stat(tsc); err != nil {
		testenv.Skip(t, "no TypeScript in testdata/lsp; run npm ci there")
	}
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(root, "examples", "extensions", "typescript", "greeter.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"node.d.ts": node, "greeter.ts": string(data)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, tsc, "--noEmit", "--strict", "--noUnusedLocals", "--noUnusedParameters", "--erasableSyntaxOnly", "--verbatimModuleSyntax",
		"--target", "es2022", "--lib", "es2022,dom", "--module", "esnext", "--moduleResolution", "bundler", "--moduleDetection", "force", "node.d.ts", "greeter.ts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
