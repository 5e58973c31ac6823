package config

import (
	_ "embed"
	"sync"

	"github.com/gajae-code/gjc/internal/configfile"
)

// defaultsJSON has the adapters that gjc knows by itself, in the form of a configuration file.
//
//go:embed defaults.json
var defaultsJSON []byte

// defaults are the adapters of the embedded file, in its order. They are never changed.
var defaults = sync.OnceValue(func() *configfile.File {
	f := &configfile.File{Path: "defaults.json", Data: defaultsJSON}
	parse(f)
	return f
})

// The kinds that Go code knows more of than the data says.
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

// kinds are the names that an adapter's kind may have: those of the defaults, in their order.
func kinds() []string {
	return []string{
		kindGDB, kindLLDB, kindCodeLLDB, kindDebugpy, kindDlv, kindJS, kindNetcoredbg, kindKotlin, kindRdbg, kindPHP, kindBash, kindFlutter, kindDart, kindElixir,
	}
}
