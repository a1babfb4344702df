// Package manual writes the manual pages of a program, in the roff that man(7) describes, from its commands. Each
// command has a page of its own.
package manual

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// section is that of programs for users.
const section = "1"

// Write writes the pages of a command and of all commands below it into a folder, which it makes, and returns their
// names. Hidden commands and flags have none.
func Write(root *cobra.Command, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write the manual: %w", err)
	}
	var names []string
	for _, c := range visible(root) {
		name := pageName(c) + "." + section
		if err := os.WriteFile(filepath.Join(dir, name), []byte(Page(c)), 0o644); err != nil {
			return names, fmt.Errorf("write the manual: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

// visible returns a command and those below it, but the hidden ones.
func visible(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, below := range c.Commands() {
		if !below.Hidden && below.Name() != "help" {
			all = append(all, visible(below)...)
		}
	}
	return all
}

// pageName names a command's page: wiretime-site-add.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Page returns the manual page of a command.
func Page(c *cobra.Command) string {
	var out strings.Builder
	program := c.Root().Name()
	// Names must not be hyphenated: they are there to be copied.
	fmt.Fprintf(&out, ".TH %s %s \"\" \"%s\" \"Manual of %s\"\n.nh\n.ad l\n", quoted(strings.ToUpper(pageName(c))), section, escape(strings.TrimSpace(program+" "+c.Root().Version)), escape(program))
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", escape(pageName(c)), escape(c.Short))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.nf\n")
	if c.Runnable() {
		fmt.Fprintf(&out, "\\fB%s\\fR\n", escape(c.UseLine()))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\\fB%s\\fR \\fICOMMAND\\fR\n", escape(c.CommandPath()))
	}
	fmt.Fprintf(&out, ".fi\n.SH DESCRIPTION\n%s", prose(cmp.Or(c.Long, c.Short+".")))
	if c.HasAvailableSubCommands() {
		out.WriteString(".SH COMMANDS\n")
		for _, below := range c.Commands() {
			if !below.Hidden && below.Name() != "help" {
				fmt.Fprintf(&out, ".TP\n\\fB%s\\fR(%s)\n%s\n", escape(pageName(below)), section, escape(below.Short))
			}
		}
	}
	if flags := c.LocalFlags(); flags.HasAvailableFlags() {
		out.WriteString(".SH OPTIONS\n")
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				option(&out, f)
			}
		})
	}
	if c.HasParent() {
		fmt.Fprintf(&out, ".SH SEE ALSO\n\\fB%s\\fR(%s)\n", escape(pageName(c.Parent())), section)
	}
	return out.String()
}

// option writes a flag with its usage, as the help has them.
func option(out *strings.Builder, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	names := "\\fB" + escape("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		names = "\\fB" + escape("-"+f.Shorthand) + "\\fR, " + names
	}
	if value != "" {
		names += " \\fI" + escape(value) + "\\fR"
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
		usage += " (default: " + f.DefValue + ")"
	}
	fmt.Fprintf(out, ".TP\n%s\n%s\n", names, escape(usage))
}

var indented = regexp.MustCompile(`^(\t|  +)`)

// prose writes paragraphs. Lines that are indented stay as they are.
func prose(text string) string {
	var out strings.Builder
	literal := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		if is := indented.MatchString(line); line != "" && is != literal {
			literal = is
			out.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[is])
		}
		if line == "" {
			out.WriteString(".PP\n")
			continue
		}
		out.WriteString(escape(line) + "\n")
	}
	if literal {
		out.WriteString(".fi\n")
	}
	return out.String()
}

var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escape writes text that roff prints as it is.
func escape(text string) string {
	text = special.Replace(strings.ReplaceAll(text, "\n", " "))
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

func quoted(text string) string { return `"` + escape(text) + `"` }
