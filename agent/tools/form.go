package tools

// A form's schema, in the subset that editors show.
type (
	formSchema struct {
		Type       string               `json:"type"`
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required,omitzero"`
	}
	formField struct {
		Type        string     `json:"type"`
		Title       string     `json:"title,omitzero"`
		Description string     `json:"description,omitzero"`
		Enum        []string   `json:"enum,omitzero"`
		Items       *formItems `json:"items,omitzero"`
		Default     any        `json:"default,omitzero"`
	}
	formItems struct {
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	}
)
