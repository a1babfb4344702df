package ui

import (
	"strconv"
	"strings"
)

// textIn returns the value of a top-level key of a study, such as its title, or "" if it is missing. It does not parse the study: parsing
// all the built-in studies takes long, and the study of a store may be a stranger's, whose parts (traces, for example) no list should open. A text of
// several lines is indented.
func textIn(study, key string) string {
	var words []string
	found := false
	for line := range strings.Lines(study) {
		text, ok := strings.CutPrefix(line, key+":")
		switch {
		case ok && !found:
			found = true
			if text = strings.TrimSpace(text); text != "" && !strings.ContainsAny(text[:1], ">|") {
				words = append(words, unquoted(text))
			}
		case found && !strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "":
			return strings.Join(words, " ")
		case found && strings.TrimSpace(line) != "":
			words = append(words, strings.TrimSpace(line))
		}
	}
	return strings.Join(words, " ")
}

// unquoted undoes YAML's quotes, as far as a title needs it.
func unquoted(text string) string {
	if double, err := strconv.Unquote(text); err == nil {
		return double
	}
	if single, ok := strings.CutPrefix(text, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(single, "'"), "''", "'")
	}
	return text
}
