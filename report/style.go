package report

import _ "embed"

//go:embed ui/src/style.css
var style string

// StyleSheet returns the report's style sheet, for other pages that are to look like it.
func StyleSheet() string { return style }
