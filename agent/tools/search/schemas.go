package search

import (
	"embed"

	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

func schema[In any]() jsonx.Raw { return toolkit.Schema[In](schemaFiles) }
