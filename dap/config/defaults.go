package config

import (
	_ "embed"
	"sync"

	"github.com/gajae-code/gjc/internal/configfile"
)

// defaultsJSON is a configuration file with the default adapters.
//
//go:embed defaults.json
var defaultsJSON []byte

// defaults returns the parsed defaultsJSON. It must not be modified.
var defaults = sync.OnceValue(func() *configfile.File {
	f := &configfile.File{Path: "defaults.json", Data: defaultsJSON}
	schema.Parse(f)
	return f
})

// The names of the default adapters, for code that depends on the adapter.
const (
	kindGDB        = "gdb"
	kindLLDB       = "lldb-dap"
	kindCodeLLDB   = "codelldb"
	kindDebugpy    = "debugpy"
	kindDlv        = "dlv"
	kindJS         = "js-debug-adapter"
	kindNetcoredbg = "netcoredbg"
	kindKotlin     = "kotlin-debug-adapter"
	kindRdbg       = "rdbg"
	kindPHP        = "php-debug-adapter"
	kindBash       = "bash-debug-adapter"
	kindDart       = "dart-debug-adapter"
	kindFlutter    = "flutter-debug-adapter"
	kindElixir     = "elixir-ls-debugger"
)

// kinds returns the valid values of an adapter's kind: the names of the defaults, in their order.
func kinds() []string {
	return []string{
		kindGDB, kindLLDB, kindCodeLLDB, kindDebugpy, kindDlv, kindJS, kindNetcoredbg, kindKotlin, kindRdbg, kindPHP, kindBash, kindFlutter, kindDart, kindElixir,
	}
}
